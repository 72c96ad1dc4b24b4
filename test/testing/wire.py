# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Encodes fields by hand, for tests that need bytes which no library would write, and
reads numbers. google.protobuf reads and writes the others."""

import struct


def varint(value):
  """Negative values take ten bytes."""
  value &= 2**64 - 1
  encoded = bytearray()
  while value >= 0x80:
    encoded.append(value & 0x7f | 0x80)
    value >>= 7
  encoded.append(value)
  return bytes(encoded)


def read_varint(data, at):
  """Returns the number at `at`, and where the next one begins."""
  value = shift = 0
  while True:
    value |= (data[at] & 0x7f) << shift
    shift += 7
    at += 1
    if data[at - 1] < 0x80:
      return value, at


def tag(number, wire_type):
  return varint(number << 3 | wire_type)


def integer(number, value):
  return tag(number, 0) + varint(value)


def delimited(number, content):
  return tag(number, 2) + varint(len(content)) + content


def double(number, value):
  return tag(number, 1) + struct.pack('<d', value)


def fixed64(number, value):
  return tag(number, 1) + value.to_bytes(8, 'little')
