// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Reads and writes messages with @bufbuild/protobuf, for run.py.
//
//   bufbuild.js DESCRIPTORS

import * as fs from 'node:fs';

import {ScalarType, createFileRegistry, create, fromBinary, toBinary} from '@bufbuild/protobuf';
import {reflect} from '@bufbuild/protobuf/reflect';
import {FileDescriptorSetSchema} from '@bufbuild/protobuf/wkt';

import {bitsOf, fromHex, ofBits, serve, toHex} from './serve.js';

const registry = createFileRegistry(
  fromBinary(FileDescriptorSetSchema, fs.readFileSync(process.argv[2])));

function treeOfScalar(type, value) {
  switch (type) {
    case ScalarType.FLOAT:
    case ScalarType.DOUBLE:
      return bitsOf(value, type == ScalarType.DOUBLE);
    case ScalarType.BYTES:
      return toHex(value);
    case ScalarType.BOOL:
    case ScalarType.STRING:
      return value;
  }
  return String(value);
}

// |kind| is that of a singular field, or of what is in a list or a map.
function treeOfValue(kind, field, value) {
  if (kind == 'message') return treeOf(value);
  if (kind == 'enum') return String(value);
  return treeOfScalar(field.scalar, value);
}

function treeOf(message) {
  const tree = {};
  for (const field of message.fields) {
    if (!message.isSet(field)) continue;
    const value = message.get(field);
    if (field.fieldKind == 'list') {
      tree[field.number] = Array.from(
        value, (element) => treeOfValue(field.listKind, field, element));
    } else if (field.fieldKind == 'map') {
      tree[field.number] = Array.from(value, ([key, element]) => (
        {1: treeOfScalar(field.mapKey, key), 2: treeOfValue(field.mapKind, field, element)}));
    } else {
      tree[field.number] = treeOfValue(field.fieldKind, field, value);
    }
  }
  return tree;
}

function scalarOf(type, tree) {
  switch (type) {
    case ScalarType.FLOAT:
    case ScalarType.DOUBLE:
      return ofBits(tree);
    case ScalarType.BYTES:
      return fromHex(tree);
    case ScalarType.BOOL:
    case ScalarType.STRING:
      return tree;
    case ScalarType.INT64:
    case ScalarType.UINT64:
    case ScalarType.SINT64:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return BigInt(tree);
  }
  return Number(tree);
}

function valueOf(kind, field, tree) {
  if (kind == 'message') return fill(field.message, tree);
  if (kind == 'enum') return Number(tree);
  return scalarOf(field.scalar, tree);
}

function fill(type, tree) {
  const message = reflect(type, create(type));
  for (const [number, value] of Object.entries(tree)) {
    const field = type.fields.find((field) => field.number == number);
    if (field.fieldKind == 'list') {
      for (const element of value) message.get(field).add(valueOf(field.listKind, field, element));
    } else if (field.fieldKind == 'map') {
      for (const entry of value) {
        message.get(field).set(
          scalarOf(field.mapKey, entry[1]), valueOf(field.mapKind, field, entry[2]));
      }
    } else {
      message.set(field, valueOf(field.fieldKind, field, value));
    }
  }
  return message;
}

serve((request) => {
  const type = registry.getMessage(request.type);
  const result = {};
  let message;
  if (request.tree) {
    message = fill(type, request.tree).message;
  } else {
    message = fromBinary(type, fromHex(request.hex));
    result.tree = treeOf(reflect(type, message));
  }
  result.hex = toHex(toBinary(type, message));
  return result;
});
