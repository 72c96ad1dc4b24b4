# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

include_guard(GLOBAL)

# Makes a library of the C++ classes that the plugin makes of schemas. Targets
# that link with it include "<path of the proto below PROTO_ROOT>.pbzero.h".
#
#   protozero_generate(
#     TARGET <name>              of the library
#     PROTOS <file>...           the schemas
#     [LANGUAGE cpp|c]           c makes "<path>.pbzero_c.h", for C: the library
#                                has no code, and the options of C++ mean nothing
#     [WRAPPER_NAMESPACE <ns>]   innermost namespace of the classes, default
#                                "pbzero"; "" for none; may be several, "a::b"
#     [RUNTIME_NAMESPACE <name>] what generated code calls the library's
#                                namespace, for files that define
#                                PROTOZERO_NAMESPACE
#     [DESCRIPTORS]              gives classes a DescriptorSet()
#     [NO_COMMENTS]              leaves out the comments of the schemas
#     [PROTO_ROOT <dir>]         what imports are relative to, default the
#                                current source directory
#     [IMPORT_DIRS <dir>...]     further folders to find imports in
#     [DEPS <target>...])        libraries of the imported schemas
#
# The classes of google/protobuf/timestamp.proto and its siblings are in the target
# protozero::well_known_protos, in the namespace "pbzero".
#
# To run a plugin from elsewhere, as when compiling for another machine, set
# PROTOZERO_PLUGIN to its path; to run another protoc, Protobuf_PROTOC_EXECUTABLE.

# A dependency file may have relative paths, with Ninja and in subfolders, too.
cmake_policy(PUSH)
cmake_policy(VERSION 3.20)

set(PROTOZERO_PLUGIN "" CACHE FILEPATH
    "protozero_plugin to run, if not the one that was built with the library")
set(_protozero_run_protoc "${CMAKE_CURRENT_LIST_DIR}/ProtozeroRunProtoc.cmake"
    CACHE INTERNAL "")

# Sets var to what is missing to generate code, or to nothing.
function(_protozero_missing var)
  set(missing)
  find_program(Protobuf_PROTOC_EXECUTABLE protoc)
  if(NOT Protobuf_PROTOC_EXECUTABLE)
    set(missing "protoc: install protobuf-compiler, or set \
Protobuf_PROTOC_EXECUTABLE to its path")
  elseif(PROTOZERO_PLUGIN)
    if(NOT EXISTS "${PROTOZERO_PLUGIN}")
      set(missing "the plugin: there is no PROTOZERO_PLUGIN=${PROTOZERO_PLUGIN}")
    endif()
  elseif(NOT TARGET protozero::protozero_plugin)
    set(missing "the plugin: set PROTOZERO_PLUGIN to the path of a \
protozero_plugin, or install libprotoc-dev and build protozero with \
PROTOZERO_BUILD_PLUGIN=ON")
  elseif(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
    set(missing "a plugin for this machine: set PROTOZERO_PLUGIN to the path of a \
protozero_plugin that runs here")
  endif()
  set(${var} "${missing}" PARENT_SCOPE)
endfunction()

function(protozero_generate)
  cmake_parse_arguments(
    PARSE_ARGV 0 arg "NO_COMMENTS;DESCRIPTORS" "TARGET;LANGUAGE;WRAPPER_NAMESPACE;RUNTIME_NAMESPACE;PROTO_ROOT"
    "PROTOS;IMPORT_DIRS;DEPS")
  if(NOT arg_TARGET OR NOT arg_PROTOS)
    message(FATAL_ERROR "protozero_generate needs TARGET and PROTOS")
  endif()
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "protozero_generate does not know "
                        "${arg_UNPARSED_ARGUMENTS}")
  endif()

  _protozero_missing(missing)
  if(missing)
    message(FATAL_ERROR "protozero_generate(TARGET ${arg_TARGET}) lacks ${missing}")
  endif()
  if(PROTOZERO_PLUGIN)
    set(plugin "${PROTOZERO_PLUGIN}")
  else()
    set(plugin "$<TARGET_FILE:protozero::protozero_plugin>")
  endif()

  # An empty namespace is a wish, too, but leaves the variable undefined.
  set(namespace pbzero)
  if("WRAPPER_NAMESPACE" IN_LIST ARGN)
    set(namespace "${arg_WRAPPER_NAMESPACE}")
  endif()
  # Apart from the folder: protoc would take the first colon of "a::b:folder"
  # for the one between them.
  set(options)
  if(NOT namespace STREQUAL "")
    set(options "--plugin_opt=wrapper_namespace=${namespace}")
  endif()
  set(extensions pbzero.cc pbzero.h)
  if(arg_LANGUAGE STREQUAL "c")
    set(options "--plugin_opt=lang=c")
    set(extensions pbzero_c.h)
  elseif(arg_LANGUAGE AND NOT arg_LANGUAGE STREQUAL "cpp")
    message(FATAL_ERROR "protozero_generate: LANGUAGE is cpp or c, not "
                        "${arg_LANGUAGE}")
  endif()
  if(arg_RUNTIME_NAMESPACE)
    list(APPEND options
         "--plugin_opt=runtime_namespace=${arg_RUNTIME_NAMESPACE}")
  endif()
  if(arg_DESCRIPTORS)
    list(APPEND options "--plugin_opt=descriptors=true")
  endif()
  if(arg_NO_COMMENTS)
    list(APPEND options "--plugin_opt=comments=false")
  endif()

  set(root "${CMAKE_CURRENT_SOURCE_DIR}")
  if(arg_PROTO_ROOT)
    get_filename_component(root "${arg_PROTO_ROOT}" ABSOLUTE)
  endif()
  set(here "protozero_generate(TARGET ${arg_TARGET})")
  if(NOT IS_DIRECTORY "${root}")
    message(FATAL_ERROR "${here}: there is no folder PROTO_ROOT, ${root}")
  endif()
  set(imports "-I${root}")
  foreach(dir IN LISTS arg_IMPORT_DIRS)
    get_filename_component(dir "${dir}" ABSOLUTE)
    list(APPEND imports "-I${dir}")
  endforeach()

  set(out "${CMAKE_CURRENT_BINARY_DIR}/${arg_TARGET}_gen")
  file(MAKE_DIRECTORY "${out}")
  set(generated)
  foreach(proto IN LISTS arg_PROTOS)
    get_filename_component(proto "${proto}" ABSOLUTE)
    file(RELATIVE_PATH stem "${root}" "${proto}")
    if(stem MATCHES "^\\.\\./")
      message(FATAL_ERROR
              "${here}: ${proto} is outside of PROTO_ROOT, ${root}: set it to the "
              "folder that imports are relative to")
    endif()
    # The header's path is the schema's below the root. Headers of schemas that
    # import it by a shorter one would include another file.
    foreach(dir IN LISTS arg_IMPORT_DIRS)
      get_filename_component(dir "${dir}" ABSOLUTE)
      string(FIND "${proto}" "${dir}/" is_elsewhere)
      string(FIND "${dir}" "${root}/" is_not_deeper)
      if(NOT arg_PROTO_ROOT AND NOT is_elsewhere AND NOT is_not_deeper)
        file(RELATIVE_PATH name "${dir}" "${proto}")
        message(FATAL_ERROR
                "${here}: ${proto} is also in IMPORT_DIRS, so it would be both "
                "${stem} and ${name}: set PROTO_ROOT ${dir} in place of that folder")
      endif()
    endforeach()
    get_source_file_property(is_generated "${proto}" GENERATED)
    if(NOT EXISTS "${proto}" AND NOT is_generated)
      message(FATAL_ERROR
              "${here}: there is no ${proto}: PROTOS are relative to "
              "${CMAKE_CURRENT_SOURCE_DIR}, and imports to PROTO_ROOT, ${root}")
    endif()
    string(REGEX REPLACE "\\.proto$" "" stem "${stem}")
    list(TRANSFORM extensions PREPEND "${out}/${stem}." OUTPUT_VARIABLE outputs)
    add_custom_command(
      OUTPUT ${outputs}
      COMMAND
        "${CMAKE_COMMAND}" "-DOUTPUTS=${outputs}"
        "-DDEPFILE=${out}/${stem}.d" "-DPROTO_ROOT=${root}" -P "${_protozero_run_protoc}" --
        "${Protobuf_PROTOC_EXECUTABLE}" ${imports}
        "--plugin=protoc-gen-plugin=${plugin}" ${options} "--plugin_out=${out}"
        "--dependency_out=${out}/${stem}.d" "${proto}"
      DEPENDS "${proto}" "${plugin}" "${_protozero_run_protoc}"
      DEPFILE "${out}/${stem}.d"
      COMMENT "Generating ${stem}.pbzero.h"
      VERBATIM)
    list(APPEND generated ${outputs})
  endforeach()

  # An installed export must not name folders of the build. Headers are where the
  # project installs them, and the library is found by find_dependency(): the
  # $<1:> keeps CMake from looking for it in the project's own exports.
  set(installed include)
  if(CMAKE_INSTALL_INCLUDEDIR)
    set(installed "${CMAKE_INSTALL_INCLUDEDIR}")
  endif()
  set(folders "$<BUILD_INTERFACE:${out}>" "$<INSTALL_INTERFACE:${installed}>")
  set(libraries)
  if(NOT arg_LANGUAGE STREQUAL "c")
    list(PREPEND arg_DEPS protozero::protozero)
  endif()
  foreach(library IN LISTS arg_DEPS)
    if(library MATCHES "^protozero::")
      list(APPEND libraries "$<BUILD_INTERFACE:${library}>"
           "$<INSTALL_INTERFACE:$<1:${library}>>")
    else()
      list(APPEND libraries "${library}")
    endif()
  endforeach()

  if(arg_LANGUAGE STREQUAL "c")
    # Headers: those who link with the library wait until they are there.
    add_custom_target(${arg_TARGET}_headers ALL DEPENDS ${generated})
    add_library(${arg_TARGET} INTERFACE)
    add_dependencies(${arg_TARGET} ${arg_TARGET}_headers)
    list(APPEND folders
         "$<TARGET_PROPERTY:$<1:protozero::protozero>,INTERFACE_INCLUDE_DIRECTORIES>")
    target_include_directories(${arg_TARGET} INTERFACE ${folders})
    target_link_libraries(${arg_TARGET} INTERFACE ${libraries})
    return()
  endif()
  add_library(${arg_TARGET} STATIC ${generated})
  target_include_directories(${arg_TARGET} PUBLIC ${folders})
  target_link_libraries(${arg_TARGET} PUBLIC ${libraries})
endfunction()

# Makes protozero::well_known_protos, which is built if something links with it.
# Without a plugin or protoc there is none, nor in a project without C++.
function(_protozero_add_well_known_protos)
  _protozero_missing(missing)
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if(missing OR NOT "CXX" IN_LIST languages OR TARGET protozero_well_known_protos)
    return()
  endif()
  get_filename_component(bin "${Protobuf_PROTOC_EXECUTABLE}" DIRECTORY)
  find_path(PROTOZERO_WELL_KNOWN_PROTOS_DIR google/protobuf/timestamp.proto
            HINTS "${bin}/../include"
            DOC "The folder of google/protobuf/timestamp.proto")
  mark_as_advanced(PROTOZERO_WELL_KNOWN_PROTOS_DIR)
  if(NOT PROTOZERO_WELL_KNOWN_PROTOS_DIR)
    return()
  endif()
  set(protos)
  foreach(name any api descriptor duration empty field_mask source_context struct
               timestamp type wrappers)
    list(APPEND protos
         "${PROTOZERO_WELL_KNOWN_PROTOS_DIR}/google/protobuf/${name}.proto")
  endforeach()
  protozero_generate(TARGET protozero_well_known_protos PROTOS ${protos}
                     PROTO_ROOT "${PROTOZERO_WELL_KNOWN_PROTOS_DIR}")
  set_target_properties(protozero_well_known_protos PROPERTIES EXCLUDE_FROM_ALL ON)
  add_library(protozero::well_known_protos ALIAS protozero_well_known_protos)
endfunction()

cmake_policy(POP)
