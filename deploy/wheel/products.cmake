# SPDX-License-Identifier: Apache-2.0
# What of the build goes into a wheel: everything in the package's own folder, where
# libbraze looks first (client/c/connect.c, near_load.c). Not part of a plain installation.
if(BRAZE_PYTHON)
	foreach(folder_of braze/bin:brazed:brazectl
		braze:braze_core:braze_near_v2:braze_near_v3:braze_near_v4)
		string(REPLACE ":" ";" parts ${folder_of})
		list(POP_FRONT parts folder)
		install(TARGETS ${parts} COMPONENT wheel EXCLUDE_FROM_ALL
			RUNTIME DESTINATION ${folder} LIBRARY DESTINATION ${folder})
	endforeach()
endif()
