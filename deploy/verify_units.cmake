# Checks the configured units in UNITS with systemd-analyze (TOOL); KIND: system or user.
set(copy ${UNITS}/verify)
file(REMOVE_RECURSE ${copy})
foreach(unit brazed.service brazed.socket)
	file(READ ${UNITS}/${unit} text)
	string(REGEX REPLACE "ExecStart=[^ \n]+" "ExecStart=/bin/true" text "${text}")
	file(WRITE ${copy}/${unit} "${text}")
endforeach()
set(ENV{XDG_RUNTIME_DIR} ${copy})
execute_process(COMMAND ${TOOL} --${KIND} verify --man=no ${copy}/brazed.service ${copy}/brazed.socket
	RESULT_VARIABLE result OUTPUT_VARIABLE said ERROR_VARIABLE said)
message("${said}")
# It also tells of other units of the machine: only words about ours count.
if(result OR said MATCHES "brazed\\.(service|socket)[:]")
	message(FATAL_ERROR "systemd-analyze does not accept the ${KIND} units")
endif()
