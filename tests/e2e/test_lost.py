# SPDX-License-Identifier: Apache-2.0
"""What was stored outlives its connection: read there, computed with over the next one."""

import shutil
import signal
import socket
import struct
import subprocess
import textwrap

import pytest
from harness import ROOT, Daemon, clean_environment, wait_until

# How a client's connection ends, seen from the client: each leaves a daemon to go on with.
PRELUDE = """
import gc, os, socket, sys
import numpy
import braze, braze.numpy as np
from braze import _core

def ask(word):
    print(word, flush=True)
    return sys.stdin.readline()

def arenas():
    with open("/proc/self/maps") as f:
        return sum("braze-arena" in line for line in f)

def insult():
    '''A message that no daemon understands: it closes the connection.'''
    for name in os.listdir("/proc/self/fd"):
        try:
            fd = os.dup(int(name))
        except OSError:
            continue
        try:
            s = socket.socket(fileno=fd)
        except OSError:
            os.close(fd)
            continue
        try:
            if s.family == socket.AF_UNIX and s.getpeername() == os.environ["BRAZE_SOCKET"]:
                s.send(b"\\xff" * 40)
        except OSError:
            pass
        s.close()
    while _core.connected():
        pass

def lose(how):
    if how == "close":
        braze.close()
    elif how == "insult":
        insult()
    else:
        ask("lose")
        while _core.connected():
            pass

def ops():
    return braze.counters()["ops"]
"""


def serves(daemon):
    """Is it this process that a client reaches?  A child of the one that was killed may still hold its sockets."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
        if s.connect_ex(daemon.socket) != 0:
            return False
        return struct.unpack("3i", s.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0] == daemon.pid


def run(text, how, *arguments):
    """Run a client; when it asks to lose its daemon, do so as `how` says."""
    with Daemon() as daemon:
        client = daemon.popen(PRELUDE + textwrap.dedent(text), how, *arguments,
                              BRAZE_NO_START="1")
        for line in client.stdout:
            if line.strip() == "lose":
                if how == "kill":
                    daemon.process.send_signal(signal.SIGKILL)
                    daemon.process.wait()
                else:
                    daemon.stop()
                daemon.start()
                wait_until(lambda: serves(daemon), 20, "the new daemon")
                client.stdin.write("done\n")
                client.stdin.flush()
        assert client.wait(60) == 0, client.stderr.read() + daemon.log_text()
        assert "hang" not in daemon.log_text()


HOWS = ["kill", "stop", "insult", "close"]


@pytest.mark.parametrize("how", HOWS)
def test_stored_values_are_read_after_the_loss(how):
    run("""
        z = np.exp(np.linspace(0, 1, 5))
        m = np.arange(12.0).reshape(3, 4) * 2
        column, block = m[:, 1], m[1:, ::2]
        braze.wait(z, m)
        c = np.array([1 + 2j, 3 - 4j])
        given = np.asarray(numpy.arange(7))
        s = m.sum(); float(s)
        want = numpy.exp(numpy.linspace(0, 1, 5))
        shown = numpy.asarray(z)
        lose(sys.argv[1])
        for _ in range(2):
            assert numpy.allclose(numpy.asarray(z), want, rtol=1e-15)
            assert str(z) == str(want) and repr(given) == repr(numpy.arange(7))
            assert m[1:, ::2].tolist() == [[8, 12], [16, 20]] == block.tolist()
            assert column.tolist() == [2, 10, 18] and float(m[2, 3]) == 22 and m.T[1, 2] == 18
            assert float(s) == 132 and c.real.tolist() == [1, 3] and len(given) == 7
            assert (shown == numpy.asarray(z)).all()
            assert m.reshape(-1)[3:5].tolist() == [6, 8]
        assert not _core.connected()
        import pickle, copy
        assert pickle.loads(pickle.dumps(given)).tolist() == list(range(7))
        """, how)


@pytest.mark.parametrize("how", HOWS)
def test_stored_values_are_computed_with_after_the_loss(how):
    run("""
        m = np.arange(12.0).reshape(3, 4) * 2
        view = m[:, 1]
        c = np.array([1 + 2j, 3 - 4j]) * 1
        part = c.imag
        braze.wait(m, c)
        lose(sys.argv[1])
        before = ops()
        assert (m + 1).tolist() == (numpy.arange(12.0).reshape(3, 4) * 2 + 1).tolist()
        assert _core.connected()
        # Shipped once: at its first use the daemon hears of the view, and that the buffer
        # needs no name of its own any more; after that a use is one operation.
        start = ops()
        r = view * 2
        assert ops() == start + 3
        q = view * 3
        assert ops() == start + 4
        assert r.tolist() == [4, 20, 36]
        assert (part + 1).tolist() == [3, -3] and (c * c).tolist() == [(-3+4j), (-7-24j)]
        # A write through one view is seen through the others, as ever.
        view[:] = -1
        assert m[:, 1].tolist() == [-1, -1, -1] and m[0].tolist() == [0, -1, 4, 6]
        m[0, 0] = 7
        assert float(m.ravel()[0]) == 7
        braze.wait(m)  # the element was a copy's
        lose(sys.argv[1])
        assert m[0].tolist() == [7, -1, 4, 6] and (m @ m.T).shape == (3, 3)
        """, how)


def test_a_list_that_is_written_where_no_daemon_is_tells_that():
    run("""
        a = np.zeros(4)
        braze.wait(a)
        braze.close()
        socket_path = os.environ["BRAZE_SOCKET"]
        os.rename(socket_path, socket_path + ".away")
        for _ in range(2):
            try:
                a[:2] = [1, 2]
            except braze.DaemonGone as e:
                assert "brazed" in str(e), str(e)
            else:
                raise AssertionError("it was written")
        os.rename(socket_path + ".away", socket_path)
        a[:2] = [1, 2]
        assert a.tolist() == [1, 2, 0, 0]
        """, "close")


@pytest.mark.parametrize("how", HOWS)
def test_what_was_not_stored_fails_by_name(how):
    run("""
        a = np.arange(6.0).reshape(2, 3)
        pending = a * 3
        braze.wait(a)
        written = np.arange(4.0) + 0
        braze.wait(written)
        kept = numpy.asarray(written)
        written += 1
        lose(sys.argv[1])
        for x, words in ((pending, "float64 array of shape (2,3) is lost: it was pending"),
                         (written, "(4,) is lost: a write to it was not done")):
            for use in (str, numpy.asarray, lambda x: (x + 1).tolist(), lambda x: x[:1].tolist(),
                        lambda x: braze.wait(x), lambda x: x.sum().item()):
                try:
                    use(x)
                except braze.DaemonGone as e:
                    assert words in str(e).replace("(2, 3)", "(2,3)"), str(e)
                else:
                    raise AssertionError((words, use))
        assert kept.tolist() == [0, 1, 2, 3]
        assert (a + 1).sum().item() == 21
        """, how)


def test_memory_that_numpy_writes_stays_after_the_loss():
    run("""
        n = braze.empty(1000)
        n[:] = 5
        a = np.zeros(8) + 1
        with braze.host(a) as w:
            w[0] = 3
            lose(sys.argv[1])
            w[1] = 4
        assert a.tolist() == [3, 4, 1, 1, 1, 1, 1, 1]
        b = np.asarray(n)
        assert b.sum().item() == 5000 and (a * 2)[:2].tolist() == [6, 8]
        b[0] = 1
        assert float(b[0]) == 1
        lose(sys.argv[1])
        lose(sys.argv[1])
        assert n[1:].tolist() == [5] * 999
        with braze.shared_arrays():
            late = numpy.ones(100)
        assert np.asarray(late).sum().item() == 100
        """, "kill")


def test_a_hundred_losses_leak_nothing():
    run("""
        old = np.arange(1000.0) * 2
        changing = np.zeros(10)
        braze.wait(old, changing)
        def cycle(i):
            global changing
            local = old + i
            braze.wait(local)
            view = local[::2]
            changing += 1
            braze.wait(changing)
            lose(("close", "insult")[i % 2])
            assert float(view[1]) == 4 + i and float((local + old)[1]) == 4 + i
            assert (old[1:3] + 1).tolist() == [3, 5]
        for i in range(4):
            cycle(i)
        fds, maps = len(os.listdir("/proc/self/fd")), arenas()
        for i in range(100):
            cycle(i)
        gc.collect()
        assert changing.tolist() == [104] * 10
        assert len(os.listdir("/proc/self/fd")) <= fds, "descriptors leaked"
        assert arenas() <= maps, (arenas(), maps)
        """, "close")


def test_memory_of_a_lost_arena_goes_back():
    """What nobody holds is given back at the loss, what is dropped later as well."""
    run("""
        def shared():
            with open("/proc/self/smaps") as f:
                text = f.read()
            total, inside = 0, False
            for line in text.splitlines():
                if "-" in line.split(" ")[0] and not line.startswith(("Rss", "Pss")):
                    inside = "braze-arena" in line
                elif inside and line.startswith("Rss"):
                    total += int(line.split()[1]) // 1024
            return total
        keep = np.ones(2_000_000) + 1
        big = [np.ones(4_000_000) + i for i in range(6)]
        braze.wait(keep, *big)
        for x in big:
            numpy.asarray(x).sum()
        numpy.asarray(keep).sum()
        full = shared()
        del big[2:], x
        lose(sys.argv[1])
        float(keep[0])
        some = shared()
        assert some <= 16 + 64 + 4, (full, some)
        big.clear()
        gc.collect()
        assert shared() <= 16 + 64, shared()
        assert float(numpy.asarray(keep).sum()) == 4_000_000
        """, "close")


def test_threads_that_wait_end_with_the_connection():
    run("""
        import threading
        x = np.ones(3_000_000)
        braze.wait(x)
        said = []
        def work():
            y = x
            for _ in range(300):
                y = np.sin(y) + np.cos(y)
            try:
                y.sum().item()
                said.append("done")
            except braze.DaemonGone as e:
                said.append("gone")
        t = [threading.Thread(target=work) for _ in range(3)]
        for thread in t: thread.start()
        lose(sys.argv[1])
        for thread in t: thread.join(30)
        assert len(said) == 3, said
        assert (x + 1).sum().item() == 6_000_000
        """, "kill")


C_PROGRAM = r"""
#include <braze.h>
#include <stdio.h>
#include <stdlib.h>

#define MUST(call) do { if (call) { fprintf(stderr, "%d: %s\n", __LINE__, e.text); exit(1); } } while (0)

int main(void)
{
	braze_session *s = NULL;
	braze_array *z = NULL, *view = NULL, *pending = NULL, *r = NULL;
	braze_error e = {0};
	double v[4];
	const void *old;
	char line[8];
	struct braze_options opt = {.size = sizeof(opt), .flags = BRAZE_NO_START};

	MUST(braze_connect(&s, &opt, &e));
	MUST(braze_arange(&z, s, BRAZE_FLOAT64, 4, braze_double(1), braze_double(1), &e));
	MUST(braze_slice(&view, z, &(int64_t){1}, &(int64_t){2}, &(int64_t){1}, &e));
	MUST(braze_data(&old, z, NULL, NULL, &e));
	MUST(braze_arange(&pending, s, BRAZE_FLOAT64, 4, braze_double(1), braze_double(1), &e));
	MUST(braze_flush(s, &e));
	puts("lose");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	while (!braze_session_error(s, &e))
		;
	MUST(braze_read(v, z, &e));
	MUST(v[3] != 4);
	MUST(braze_read(v, view, &e));
	MUST(v[1] != 3);
	MUST(braze_copy(&r, z, &e) != BRAZE_E_DAEMON_GONE);
	MUST(braze_reconnect(s, &e));
	MUST(braze_reconnect(s, &e));
	MUST(braze_read(v, pending, &e) != BRAZE_E_DAEMON_GONE);
	puts(e.text);
	MUST(braze_copy(&r, view, &e));
	MUST(braze_read(v, r, &e));
	MUST(v[0] != 2 || v[1] != 3 || ((const double *)old)[2] != 3);
	braze_release(r);
	MUST(braze_assign(view, braze_arg_double(9), &e));
	MUST(braze_read(v, z, &e));
	MUST(v[0] != 1 || v[1] != 9 || v[3] != 4);
	braze_close(s);
	MUST(braze_read(v, z, &e));
	MUST(v[1] != 9);
	braze_release(z);
	braze_release(view);
	braze_release(pending);
	return 0;
}
"""

FORTRAN_PROGRAM = """
program lost
   use braze
   use, intrinsic :: iso_fortran_env
   implicit none
   real(8) :: x(3), y(3)
   type(braze_array_t) :: a, b, c
   character(8) :: line
   integer :: stat
   character(200) :: text
   call braze_init(flags=braze_no_start)
   x = [1.0d0, 2.0d0, 3.0d0]
   a = x
   b = a*2
   y = b
   write (output_unit, '(a)') 'lose'
   flush (output_unit)
   read (input_unit, '(a)') line
   call b%read(y, stat, text)
   if (stat /= 0 .or. any(abs(y - 2*x) > 0)) error stop 'not readable'
   c = a + b                      ! the loss may be seen only now
   call c%read(y, stat, text)
   c = a + b
   call c%read(y, stat, text)
   if (stat /= 0 .or. any(abs(y - 3*x) > 0)) error stop 'wrong'
   y = b + 1
   if (any(abs(y - (2*x + 1)) > 0)) error stop 'wrong'
end program
"""


def compiled(tmp_path, compiler, source, *flags):
    build = ROOT / "build"
    (tmp_path / source[0]).write_text(source[1])
    subprocess.run([compiler, tmp_path / source[0], "-o", tmp_path / "program",
                    f"-I{ROOT / 'client/c'}", *flags, f"-L{build / 'client/c'}", "-lbraze",
                    f"-Wl,-rpath,{build / 'client/c'}"], check=True)
    return tmp_path / "program"


def lose_once(program):
    """Run it beside a daemon that is killed when it asks; what it printed."""
    with Daemon() as daemon:
        client = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True,
                                  env=clean_environment(BRAZE_SOCKET=daemon.socket))
        daemon.started.append(client)
        assert client.stdout.readline() == "lose\n", client.stderr.read()
        daemon.kill()
        daemon.start()
        return finish_with(client)


def finish_with(client):
    out, err = client.communicate("done\n", timeout=60)
    assert client.returncode == 0, out + err
    return out


def test_a_c_program_reads_and_goes_on_after_a_loss(tmp_path):
    out = lose_once(compiled(tmp_path, "cc", ("program.c", C_PROGRAM)))
    assert "float64 array of shape (4) is lost: it was pending" in out.replace(",)", ")")


@pytest.mark.skipif(not shutil.which("gfortran"), reason="there is no Fortran compiler")
def test_a_fortran_program_reads_and_goes_on_after_a_loss(tmp_path):
    build = ROOT / "build/client/fortran"
    lose_once(compiled(tmp_path, "gfortran", ("program.f90", FORTRAN_PROGRAM),
                       f"-I{build / 'modules'}", f"-L{build}", "-lbraze_fortran",
                       f"-Wl,-rpath,{build}"))
