# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
#
# An overlay port, of the tree that it is in:
#   vcpkg install pbzero --overlay-ports=<this tree>/packaging/vcpkg

get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS feature_options
                     FEATURES plugin PROTOZERO_BUILD_PLUGIN)
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS ${feature_options})
vcpkg_cmake_install()
if("plugin" IN_LIST FEATURES)
  vcpkg_copy_tools(TOOL_NAMES protozero_plugin protoc-gen-pbzero AUTO_CLEAN)
endif()
vcpkg_cmake_config_fixup(PACKAGE_NAME protozero CONFIG_PATH lib/cmake/protozero)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
