# SPDX-License-Identifier: Apache-2.0
"""A running Jupyter kernel."""

import sys

from harness import clean_environment
from jupyter_client.manager import KernelManager


class Notebook:
    """Cells are sent at once and collected later."""

    def __init__(self, cells, daemon, **settings):
        self.cells = cells
        self.manager = KernelManager()
        self.manager.kernel_spec.argv[0] = sys.executable
        self.manager.start_kernel(cwd=daemon.folder, env=clean_environment(
            BRAZE_SOCKET=daemon.socket, IPYTHONDIR=daemon.folder + "/ipython",
            JUPYTER_RUNTIME_DIR=daemon.folder, **settings))
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=40)

    def send(self, i):
        self.sent = self.client.execute(self.cells[i])

    def collect(self):
        """(what the cell shows and prints, name of its error) once it has run."""
        shown, error = "", None
        while True:
            message = self.client.get_iopub_msg(timeout=40)
            if message["parent_header"].get("msg_id") != self.sent:
                continue
            content = message["content"]
            if message["msg_type"] == "execute_result":
                shown += content["data"]["text/plain"]
            elif message["msg_type"] == "stream":
                shown += content["text"]
            elif message["msg_type"] == "error":
                error = content["ename"]
            elif message["msg_type"] == "status" and content["execution_state"] == "idle":
                return shown, error

    def end(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
