# SPDX-License-Identifier: Apache-2.0
# Runs COMMAND (a list) on the stand-in driver: CUDA, NVRTC, PTX (a folder of its own,
# through which the stand-ins exchange what they compile).
file(REMOVE_RECURSE ${PTX})
file(MAKE_DIRECTORY ${PTX})
set(ENV{BRAZE_LIBCUDA} ${CUDA})
set(ENV{BRAZE_NVRTC} ${NVRTC})
set(ENV{BRAZE_STANDIN_PTX} ${PTX})
# Little memory, so that it runs out; shared-memory races are looked for.
set(ENV{BRAZE_STANDIN} vram=256M,race=1)
execute_process(COMMAND ${COMMAND} RESULT_VARIABLE status)
file(REMOVE_RECURSE ${PTX})
if(NOT status EQUAL 0)
	message(FATAL_ERROR "it ended with ${status}")
endif()
