# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

include_guard(GLOBAL)

# Makes a library of the C++ classes that the plugin makes of schemas. Targets
# that link with it include "<path of the proto below PROTO_ROOT>.pbzero.h".
#
#   protozero_generate(
#     TARGET <name>              of the library
#     PROTOS <file>...           the schemas
#     [WRAPPER_NAMESPACE <ns>]   innermost namespace of the classes, default
#                                "pbzero"; "" for none; may be several, "a::b"
#     [RUNTIME_NAMESPACE <name>] what generated code calls the library's
#                                namespace, for files that define
#                                PROTOZERO_NAMESPACE
#     [NO_COMMENTS]              leaves out the comments of the schemas
#     [PROTO_ROOT <dir>]         what imports are relative to, default the
#                                current source directory
#     [IMPORT_DIRS <dir>...]     further folders to find imports in
#     [DEPS <target>...])        libraries of the imported schemas
#
# To run a plugin from elsewhere, as when compiling for another machine, set
# PROTOZERO_PLUGIN_EXECUTABLE; to run another protoc, Protobuf_PROTOC_EXECUTABLE.
function(protozero_generate)
  cmake_parse_arguments(
    PARSE_ARGV 0 arg "NO_COMMENTS" "TARGET;WRAPPER_NAMESPACE;RUNTIME_NAMESPACE;PROTO_ROOT"
    "PROTOS;IMPORT_DIRS;DEPS")
  if(NOT arg_TARGET OR NOT arg_PROTOS)
    message(FATAL_ERROR "protozero_generate needs TARGET and PROTOS")
  endif()
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "protozero_generate does not know "
                        "${arg_UNPARSED_ARGUMENTS}")
  endif()

  find_program(Protobuf_PROTOC_EXECUTABLE protoc REQUIRED)
  if(PROTOZERO_PLUGIN_EXECUTABLE)
    set(plugin "${PROTOZERO_PLUGIN_EXECUTABLE}")
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
  set(options "--plugin_opt=wrapper_namespace=${namespace}")
  if(arg_RUNTIME_NAMESPACE)
    list(APPEND options
         "--plugin_opt=runtime_namespace=${arg_RUNTIME_NAMESPACE}")
  endif()
  if(arg_NO_COMMENTS)
    list(APPEND options "--plugin_opt=comments=false")
  endif()

  if(NOT arg_PROTO_ROOT)
    set(arg_PROTO_ROOT "${CMAKE_CURRENT_SOURCE_DIR}")
  endif()
  get_filename_component(root "${arg_PROTO_ROOT}" ABSOLUTE)
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
      message(FATAL_ERROR "${proto} is outside of PROTO_ROOT, ${root}")
    endif()
    string(REGEX REPLACE "\\.proto$" "" stem "${stem}")
    set(outputs "${out}/${stem}.pbzero.cc" "${out}/${stem}.pbzero.h")
    add_custom_command(
      OUTPUT ${outputs}
      COMMAND
        "${Protobuf_PROTOC_EXECUTABLE}" ${imports}
        "--plugin=protoc-gen-plugin=${plugin}" ${options} "--plugin_out=${out}"
        "--dependency_out=${out}/${stem}.d" "${proto}"
      DEPENDS "${proto}" "${plugin}"
      DEPFILE "${out}/${stem}.d"
      COMMENT "Generating ${stem}.pbzero.h"
      VERBATIM)
    list(APPEND generated ${outputs})
  endforeach()

  add_library(${arg_TARGET} STATIC ${generated})
  target_include_directories(${arg_TARGET} PUBLIC "${out}")
  target_link_libraries(${arg_TARGET} PUBLIC protozero::protozero ${arg_DEPS})
endfunction()
