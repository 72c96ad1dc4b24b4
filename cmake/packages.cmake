# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
#
# CPack makes Debian packages of the shared library, of what is needed to
# build with it, and of the programs. Mapbox's library is in a package
# libprotozero-dev, beside which ours can be installed.

set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL library dev tools)
set(CPACK_PACKAGE_NAME protozero)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_RESOURCE_FILE_LICENSE "${CMAKE_CURRENT_SOURCE_DIR}/LICENSE")
if(NOT CPACK_PACKAGE_CONTACT)
  set(CPACK_PACKAGE_CONTACT "The protozero authors <protozero@localhost>")
endif()

set(library_package
    libprotozero${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
# Any revision of a version may differ.
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY "=")
# For dpkg-shlibdeps, which knows no package of our library yet.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${CMAKE_CURRENT_BINARY_DIR}")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME ${library_package})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION
    "Protobuf messages, written without copies (shared library)")
set(CPACK_DEBIAN_DEV_PACKAGE_NAME protozero-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
# CMake's package names the programs, and looks whether they are there.
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
    "${library_package} (= ${PROJECT_VERSION}), \
protozero-tools (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_DEV_PACKAGE_RECOMMENDS protobuf-compiler)
set(CPACK_COMPONENT_DEV_DESCRIPTION
    "Protobuf messages, written without copies (headers and libraries)")
set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME protozero-tools)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS
    "${library_package} (= ${PROJECT_VERSION})")
# pztrace loads it to send a trace.
set(CPACK_DEBIAN_TOOLS_PACKAGE_RECOMMENDS
    "libcurl4t64 | libcurl4 | libcurl3t64-gnutls | libcurl3-gnutls")
set(CPACK_COMPONENT_TOOLS_DESCRIPTION
    "Plugin of protoc, printer of protobuf files and recorder of traces")

foreach(component_package IN ITEMS "library ${library_package}"
                                   "dev protozero-dev" "tools protozero-tools")
  separate_arguments(component_package)
  list(GET component_package 0 component)
  list(GET component_package 1 package)
  install(
    FILES "${CMAKE_CURRENT_SOURCE_DIR}/LICENSE"
    DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/${package}
    RENAME copyright
    COMPONENT ${component})
endforeach()

include(CPack)
