# SPDX-License-Identifier: Apache-2.0
# What operators install beside the programs: units, users, folders, settings. Run by
# cmake --install, after everything else; WORK is a folder of the build.
include("${CMAKE_CURRENT_LIST_DIR}/layout.cmake")
set(from "${CMAKE_CURRENT_LIST_DIR}/..")

function(put folder file name)
	configure_file("${from}/${file}" "${WORK}/${folder}/${name}" @ONLY)
	file(INSTALL DESTINATION "${BRAZE_PREFIX}/${folder}" TYPE FILE FILES "${WORK}/${folder}/${name}")
	set(CMAKE_INSTALL_MANIFEST_FILES "${CMAKE_INSTALL_MANIFEST_FILES}" PARENT_SCOPE)
endfunction()

put("${BRAZE_SYSTEMD_DIR}/system" systemd/brazed.service.in brazed.service)
put("${BRAZE_SYSTEMD_DIR}/system" systemd/brazed.socket brazed.socket)
put("${BRAZE_SYSTEMD_DIR}/user" systemd/user-brazed.service.in brazed.service)
put("${BRAZE_SYSTEMD_DIR}/user" systemd/user-brazed.socket brazed.socket)
put(lib/sysusers.d systemd/brazed.sysusers brazed.conf)
put(lib/tmpfiles.d systemd/brazed.tmpfiles brazed.conf)

file(INSTALL DESTINATION "${BRAZE_PREFIX}/share/braze/monitoring" TYPE FILE FILES
	"${from}/monitoring/braze-alerts.yml" "${from}/monitoring/braze-dashboard.json")

# Settings that an operator changed are kept.
set(conf "${BRAZE_SYSCONFDIR}/braze/brazed.conf")
if(NOT EXISTS "$ENV{DESTDIR}${conf}")
	file(INSTALL DESTINATION "${BRAZE_SYSCONFDIR}/braze" TYPE FILE FILES "${from}/brazed.conf")
else()
	list(APPEND CMAKE_INSTALL_MANIFEST_FILES "${conf}")
endif()

# For make uninstall, which must not need this build.
set(manifest "${BRAZE_PREFIX}/share/braze/manifest")
string(REPLACE ";" "\n" lines "${CMAKE_INSTALL_MANIFEST_FILES};${manifest}")
file(WRITE "${WORK}/manifest" "${lines}\n")
file(INSTALL DESTINATION "${BRAZE_PREFIX}/share/braze" TYPE FILE FILES "${WORK}/manifest")
