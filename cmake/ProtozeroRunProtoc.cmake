# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
#
# Runs protoc for protozero_generate(), and escapes what protoc does not escape in
# its file of dependencies: Ninja and Make would take a path with a space for two.
#
#   cmake "-DOUTPUTS=<file>;..." -DDEPFILE=<file> -DPROTO_ROOT=<dir>
#         -P ProtozeroRunProtoc.cmake -- <protoc> <argument>...

cmake_minimum_required(VERSION 3.20)

set(command)
set(is_command OFF)
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(i RANGE ${last})
  if(is_command)
    list(APPEND command "${CMAKE_ARGV${i}}")
  elseif("${CMAKE_ARGV${i}}" STREQUAL "--")
    set(is_command ON)
  endif()
endforeach()

execute_process(COMMAND ${command} RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  list(GET command 0 protoc)
  message(FATAL_ERROR "${protoc} failed: ${result}. Schemas and their imports are "
                      "looked for in PROTO_ROOT, ${PROTO_ROOT}, and in IMPORT_DIRS")
endif()

function(escape var)
  string(REPLACE "$" "$$" text "${${var}}")
  string(REPLACE "#" "\\#" text "${text}")
  string(REPLACE " " "\\ " text "${text}")
  set(${var} "${text}" PARENT_SCOPE)
endfunction()

# The outputs, a colon and the files that protoc has read, one a line.
file(READ "${DEPFILE}" text)
string(JOIN " \\\n" outputs ${OUTPUTS})
string(APPEND outputs ": ")
string(FIND "${text}" "${outputs}" at)
if(NOT at EQUAL 0)
  message(FATAL_ERROR "${DEPFILE} is not as protoc writes it:\n${text}")
endif()
string(LENGTH "${outputs}" length)
string(SUBSTRING "${text}" ${length} -1 text)
string(STRIP "${text}" text)
string(REPLACE "\\\n " ";" inputs "${text}")
set(rule)
foreach(output IN LISTS OUTPUTS)
  escape(output)
  string(APPEND rule "${output} ")
endforeach()
string(APPEND rule ":")
foreach(input IN LISTS inputs)
  escape(input)
  string(APPEND rule " \\\n ${input}")
endforeach()
file(WRITE "${DEPFILE}" "${rule}\n")
