# SPDX-License-Identifier: Apache-2.0
# Where things go below a prefix, worked out when they are installed: the build does not
# know the prefix. In: CMAKE_INSTALL_PREFIX; BRAZE_PYTHON_INSTALL_DIR, a folder below it or
# empty; BRAZE_SYSTEMD_DIR. Out: BRAZE_BINDIR and BRAZE_SYSCONFDIR, absolute;
# BRAZE_PYTHON_TO, below the prefix.
get_filename_component(BRAZE_PREFIX "${CMAKE_INSTALL_PREFIX}" ABSOLUTE)
if(BRAZE_PREFIX STREQUAL "/")
	set(BRAZE_PREFIX "")
endif()
set(BRAZE_BINDIR "${BRAZE_PREFIX}/bin")
if(BRAZE_PREFIX STREQUAL "" OR BRAZE_PREFIX STREQUAL "/usr")
	set(BRAZE_SYSCONFDIR /etc)
else()
	set(BRAZE_SYSCONFDIR "${BRAZE_PREFIX}/etc")
endif()

# The prefix's own python3 says where it looks; /usr/local belongs to the system's.
set(BRAZE_PYTHON_TO "${BRAZE_PYTHON_INSTALL_DIR}")
if(NOT BRAZE_PYTHON_TO)
	set(python "${BRAZE_PREFIX}/bin/python3")
	if(NOT EXISTS "${python}" AND BRAZE_PREFIX STREQUAL "/usr/local")
		set(python /usr/bin/python3)
	endif()
	if(EXISTS "${python}")
		execute_process(COMMAND "${python}" "${CMAKE_CURRENT_LIST_DIR}/python_dir.py"
			"${BRAZE_PREFIX}" OUTPUT_VARIABLE BRAZE_PYTHON_TO ERROR_QUIET
			OUTPUT_STRIP_TRAILING_WHITESPACE)
	endif()
	if(NOT BRAZE_PYTHON_TO)
		set(BRAZE_PYTHON_TO lib/python3/dist-packages)
	endif()
endif()
