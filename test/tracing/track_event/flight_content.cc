// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/tracing/track_event/flight_content.h"

#include <stddef.h>
#include <stdio.h>

#include <gtest/gtest.h>

#include "src/tracing/local/flight_reader.h"

std::vector<uint8_t> FlightContent(const std::string& path) {
  std::vector<uint8_t> content;
  FILE* const file = fopen(path.c_str(), "rb");
  EXPECT_NE(file, nullptr) << path;
  if (file == nullptr)
    return content;
  uint8_t bytes[65536];
  while (const size_t size = fread(bytes, 1, sizeof(bytes), file))
    content.insert(content.end(), bytes, bytes + size);
  fclose(file);
  return content;
}

RecoveredFlight RecoverFlight(const std::string& path) {
  RecoveredFlight recovered;
  const std::vector<uint8_t> content = FlightContent(path);
  protozero::FlightReader reader;
  std::string error;
  EXPECT_TRUE(reader.Open(content, &error)) << error;
  EXPECT_TRUE(reader.ReadTrace([&](const uint8_t* data, size_t size) {
    recovered.trace.append(reinterpret_cast<const char*>(data), size);
    return true;
  }));
  recovered.stats = reader.stats();
  recovered.pid = reader.pid();
  return recovered;
}
