# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
#
# Included by LevelDB's own CMakeLists.txt after its project(), see leveldb_test.py.

# Compiled as one file each, which takes less time.
set(CMAKE_UNITY_BUILD ON)
set(CMAKE_UNITY_BUILD_BATCH_SIZE 0)
add_subdirectory(${PROTOZERO_ROOT} protozero EXCLUDE_FROM_ALL)
set(CMAKE_UNITY_BUILD OFF)

# Called when LevelDB's targets are there.
function(add_db_bench)
  target_link_libraries(leveldb protozero::protozero_track_event)
  add_executable(db_bench benchmarks/db_bench.cc util/histogram.cc
                          util/testutil.cc)
  target_include_directories(db_bench PRIVATE ${PROJECT_BINARY_DIR}/include .)
  target_compile_definitions(db_bench PRIVATE LEVELDB_PLATFORM_POSIX=1)
  target_link_libraries(db_bench leveldb gtest)
endfunction()
cmake_language(DEFER CALL add_db_bench)
