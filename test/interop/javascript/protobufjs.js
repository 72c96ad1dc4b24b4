// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Reads and writes messages with protobufjs, for run.py.
//
//   protobufjs.js DESCRIPTORS

import * as fs from 'node:fs';

import Long from 'long';
import protobuf from 'protobufjs';
import descriptor from 'protobufjs/ext/descriptor/index.js';

import {bitsOf, fromHex, ofBits, serve, toHex} from './serve.js';

protobuf.util.Long = Long;
protobuf.configure();
const files = descriptor.FileDescriptorSet.decode(fs.readFileSync(process.argv[2]));
const root = protobuf.Root.fromDescriptor(files).resolveAll();

function treeOfValue(type, resolved, value) {
  if (resolved instanceof protobuf.Type) return treeOf(resolved, value);
  switch (type) {
    case 'float':
    case 'double':
      return bitsOf(value, type == 'double');
    case 'bytes':
      return toHex(value);
    case 'bool':
    case 'string':
      return value;
  }
  return String(value);
}

function treeOfKey(type, key) {
  if (type == 'bool') return key == 'true' || key == '1';
  // Keys of 64 bits are the characters of a hash.
  if (/64/.test(type) && !/^-?\d+$/.test(key)) {
    return String(protobuf.util.longFromHash(key, /^u|^f/.test(type)));
  }
  return key;
}

function treeOf(type, message) {
  const tree = {};
  for (const field of type.fieldsArray) {
    // Defaults are those of the prototype.
    if (!Object.hasOwn(message, field.name)) continue;
    const value = message[field.name];
    if (value === null || value === undefined) continue;
    if (field.map) {
      tree[field.id] = Object.entries(value).map(([key, element]) => (
        {1: treeOfKey(field.keyType, key),
          2: treeOfValue(field.type, field.resolvedType, element)}));
    } else if (field.repeated) {
      tree[field.id] = value.map((element) => treeOfValue(field.type, field.resolvedType, element));
    } else {
      tree[field.id] = treeOfValue(field.type, field.resolvedType, value);
    }
  }
  return tree;
}

function valueOf(type, resolved, tree) {
  if (resolved instanceof protobuf.Type) return fill(resolved, tree);
  switch (type) {
    case 'float':
    case 'double':
      return ofBits(tree);
    case 'bytes':
      return fromHex(tree);
    case 'bool':
    case 'string':
      return tree;
  }
  if (/64/.test(type)) return Long.fromString(tree, /^u|^f/.test(type));
  return Number(tree);
}

function fill(type, tree) {
  const message = type.create();
  for (const [number, value] of Object.entries(tree)) {
    const field = type.fieldsById[number];
    if (field.map) {
      message[field.name] = {};
      for (const entry of value) {
        let key = valueOf(field.keyType, null, entry[1]);
        if (key instanceof Long) key = protobuf.util.longToHash(key);
        message[field.name][key] = valueOf(field.type, field.resolvedType, entry[2]);
      }
    } else if (field.repeated) {
      message[field.name] = value.map(
        (element) => valueOf(field.type, field.resolvedType, element));
    } else {
      message[field.name] = valueOf(field.type, field.resolvedType, value);
    }
  }
  return message;
}

serve((request) => {
  const type = root.lookupType(request.type);
  const result = {};
  let message;
  if (request.tree) {
    message = fill(type, request.tree);
  } else {
    message = type.decode(fromHex(request.hex));
    result.tree = treeOf(type, message);
  }
  result.hex = toHex(type.encode(message).finish());
  return result;
});
