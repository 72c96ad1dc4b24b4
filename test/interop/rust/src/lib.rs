// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

//! What both programs have in common.

use serde_json::{json, Value as Json};
use std::error::Error;
use std::io::{self, BufRead, Write};

pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

pub fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn from_hex(digits: &str) -> Result<Vec<u8>> {
    (0..digits.len())
        .step_by(2)
        .map(|i| Ok(u8::from_str_radix(&digits[i..i + 2], 16)?))
        .collect()
}

pub fn elements(tree: &Json) -> Result<&Vec<Json>> {
    Ok(tree.as_array().ok_or("not an array")?)
}

/// The tree of an entry of a map.
pub fn entry(key: Json, value: Json) -> Json {
    json!({"1": key, "2": value})
}

/// A value without fields of its own.
pub trait Scalar {
    fn tree(&self) -> Json;
    fn of_tree(tree: &Json) -> Result<Self>
    where
        Self: Sized;
}

fn text(tree: &Json) -> Result<&str> {
    Ok(tree.as_str().ok_or("not a string")?)
}

macro_rules! integer {
    ($type:ty) => {
        impl Scalar for $type {
            fn tree(&self) -> Json {
                json!(self.to_string())
            }
            fn of_tree(tree: &Json) -> Result<Self> {
                Ok(text(tree)?.parse()?)
            }
        }
    };
}

integer!(i32);
integer!(i64);
integer!(u32);
integer!(u64);

impl Scalar for f32 {
    fn tree(&self) -> Json {
        json!(format!("{:08x}", self.to_bits()))
    }
    fn of_tree(tree: &Json) -> Result<Self> {
        Ok(f32::from_bits(u32::from_str_radix(text(tree)?, 16)?))
    }
}

impl Scalar for f64 {
    fn tree(&self) -> Json {
        json!(format!("{:016x}", self.to_bits()))
    }
    fn of_tree(tree: &Json) -> Result<Self> {
        Ok(f64::from_bits(u64::from_str_radix(text(tree)?, 16)?))
    }
}

impl Scalar for bool {
    fn tree(&self) -> Json {
        json!(self)
    }
    fn of_tree(tree: &Json) -> Result<Self> {
        Ok(tree.as_bool().ok_or("not a bool")?)
    }
}

impl Scalar for String {
    fn tree(&self) -> Json {
        json!(self)
    }
    fn of_tree(tree: &Json) -> Result<Self> {
        Ok(text(tree)?.to_string())
    }
}

impl Scalar for Vec<u8> {
    fn tree(&self) -> Json {
        json!(to_hex(self))
    }
    fn of_tree(tree: &Json) -> Result<Self> {
        from_hex(text(tree)?)
    }
}

/// Calls `answer` with each line of the standard input, which is JSON, and
/// prints what it returns as a line. The protocol is described in
/// libprotobuf_main.cc.
pub fn serve(answer: impl Fn(&Json) -> Result<Json>) -> Result<()> {
    let mut output = io::BufWriter::new(io::stdout());
    for line in io::stdin().lock().lines() {
        let request = serde_json::from_str(&line?)?;
        let result = answer(&request).unwrap_or_else(|error| json!({"error": error.to_string()}));
        writeln!(output, "{result}")?;
    }
    Ok(output.flush()?)
}
