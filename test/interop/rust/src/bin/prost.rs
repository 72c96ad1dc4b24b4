// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

//! Reads and writes messages with prost, for run.py.
//!
//!   prost DESCRIPTORS
//!
//! What it reads and prints, line by line, is described in libprotobuf_main.cc.
//! prost has no reflection: trees are made from and to dynamic messages, and
//! all bytes that come or go are read and written by the generated types.

use interop::{elements, entry, from_hex, serve, to_hex, Result, Scalar};
use prost_reflect::{
    DescriptorPool, DynamicMessage, FieldDescriptor, Kind, MapKey, MessageDescriptor, Value,
};
use serde_json::{json, Map, Value as Json};
use std::collections::HashMap;

mod schema {
    include!(concat!(env!("OUT_DIR"), "/interop.rs"));
}

type Rewrite = fn(&[u8]) -> Result<Vec<u8>>;

/// Reads a message and writes it again.
fn rewrite<T: prost::Message + Default>(bytes: &[u8]) -> Result<Vec<u8>> {
    Ok(T::decode(bytes)?.encode_to_vec())
}

include!(concat!(env!("OUT_DIR"), "/find_prost.rs"));

fn tree_of_value(value: &Value) -> Json {
    match value {
        Value::Bool(x) => x.tree(),
        Value::I32(x) | Value::EnumNumber(x) => x.tree(),
        Value::I64(x) => x.tree(),
        Value::U32(x) => x.tree(),
        Value::U64(x) => x.tree(),
        Value::F32(x) => x.tree(),
        Value::F64(x) => x.tree(),
        Value::String(x) => x.tree(),
        Value::Bytes(x) => x.to_vec().tree(),
        Value::Message(x) => tree_of(x),
        Value::List(x) => x.iter().map(tree_of_value).collect(),
        Value::Map(x) => x
            .iter()
            .map(|(key, value)| entry(tree_of_value(&key.clone().into()), tree_of_value(value)))
            .collect(),
    }
}

fn tree_of(message: &DynamicMessage) -> Json {
    let members = message.fields();
    members
        .map(|(field, value)| (field.number().to_string(), tree_of_value(value)))
        .collect::<Map<_, _>>()
        .into()
}

fn value_of(kind: Kind, tree: &Json) -> Result<Value> {
    Ok(match kind {
        Kind::Double => Value::F64(Scalar::of_tree(tree)?),
        Kind::Float => Value::F32(Scalar::of_tree(tree)?),
        Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => Value::I32(Scalar::of_tree(tree)?),
        Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => Value::I64(Scalar::of_tree(tree)?),
        Kind::Uint32 | Kind::Fixed32 => Value::U32(Scalar::of_tree(tree)?),
        Kind::Uint64 | Kind::Fixed64 => Value::U64(Scalar::of_tree(tree)?),
        Kind::Bool => Value::Bool(Scalar::of_tree(tree)?),
        Kind::Enum(_) => Value::EnumNumber(Scalar::of_tree(tree)?),
        Kind::String => Value::String(Scalar::of_tree(tree)?),
        Kind::Bytes => Value::Bytes(Vec::<u8>::of_tree(tree)?.into()),
        Kind::Message(descriptor) => Value::Message(message_of(descriptor, tree)?),
    })
}

fn map_of(field: &FieldDescriptor, tree: &Json) -> Result<Value> {
    let Kind::Message(entry) = field.kind() else {
        unreachable!()
    };
    let mut map = HashMap::new();
    for element in elements(tree)? {
        let key = match value_of(entry.map_entry_key_field().kind(), &element["1"])? {
            Value::Bool(x) => MapKey::Bool(x),
            Value::I32(x) => MapKey::I32(x),
            Value::I64(x) => MapKey::I64(x),
            Value::U32(x) => MapKey::U32(x),
            Value::U64(x) => MapKey::U64(x),
            Value::String(x) => MapKey::String(x),
            _ => return Err("not a key".into()),
        };
        map.insert(
            key,
            value_of(entry.map_entry_value_field().kind(), &element["2"])?,
        );
    }
    Ok(Value::Map(map))
}

fn message_of(descriptor: MessageDescriptor, tree: &Json) -> Result<DynamicMessage> {
    let mut message = DynamicMessage::new(descriptor.clone());
    for (number, member) in tree.as_object().ok_or("not an object")? {
        let field = descriptor
            .get_field(number.parse()?)
            .ok_or("no such field")?;
        let value = if field.is_map() {
            map_of(&field, member)?
        } else if field.is_list() {
            Value::List(
                elements(member)?
                    .iter()
                    .map(|element| value_of(field.kind(), element))
                    .collect::<Result<_>>()?,
            )
        } else {
            value_of(field.kind(), member)?
        };
        message.set_field(&field, value);
    }
    Ok(message)
}

fn main() -> Result<()> {
    let path = std::env::args().nth(1).ok_or("DESCRIPTORS is missing")?;
    let pool = DescriptorPool::decode(&*std::fs::read(path)?)?;
    serve(|request| {
        let name = request["type"].as_str().ok_or("no type")?;
        let descriptor = pool.get_message_by_name(name).ok_or("no such type")?;
        let rewrite = find(name).ok_or("no such type")?;
        if let Some(digits) = request["hex"].as_str() {
            let bytes = rewrite(&from_hex(digits)?)?;
            let message = DynamicMessage::decode(descriptor, &*bytes)?;
            Ok(json!({"tree": tree_of(&message), "hex": to_hex(&bytes)}))
        } else {
            let message = message_of(descriptor, &request["tree"])?;
            Ok(json!({"hex": to_hex(&rewrite(&prost::Message::encode_to_vec(&message))?)}))
        }
    })
}
