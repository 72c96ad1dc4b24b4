// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

//! Reads and writes messages with Google's library, for run.py.
//!
//!   google

// Generated functions have the names of messages.
#![allow(non_snake_case)]

use interop::{elements, entry, from_hex, serve, to_hex, Result, Scalar};
use protobuf::prelude::*;
use protobuf::ProtoStr;
use serde_json::{json, Map, Value as Json};

mod schema {
    include!(concat!(
        env!("OUT_DIR"),
        "/protobuf_generated/test/interop/generated.rs"
    ));
}

/// What strings and bytes are when read.
trait View {
    fn tree(&self) -> Json;
}

impl View for ProtoStr {
    fn tree(&self) -> Json {
        json!(self.to_str().unwrap_or("not UTF-8"))
    }
}

impl View for [u8] {
    fn tree(&self) -> Json {
        json!(to_hex(self))
    }
}

type Read = fn(&[u8]) -> Result<(Json, Vec<u8>)>;
type Make = fn(&Json) -> Result<Vec<u8>>;

/// Reads a message, and writes it again.
fn read<T: protobuf::Message>(bytes: &[u8], tree_of: fn(&T) -> Json) -> Result<(Json, Vec<u8>)> {
    let message = T::parse(bytes)?;
    Ok((tree_of(&message), message.serialize()?))
}

// A pair of the above by the name of a type.
include!(concat!(env!("OUT_DIR"), "/find_google.rs"));

fn main() -> Result<()> {
    serve(|request| {
        let name = request["type"].as_str().ok_or("no type")?;
        let (read, make) = find(name).ok_or("no such type")?;
        if let Some(digits) = request["hex"].as_str() {
            let (tree, bytes) = read(&from_hex(digits)?)?;
            Ok(json!({"tree": tree, "hex": to_hex(&bytes)}))
        } else {
            Ok(json!({"hex": to_hex(&make(&request["tree"])?)}))
        }
    })
}
