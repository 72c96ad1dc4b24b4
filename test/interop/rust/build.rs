// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

//! Generates the types of both libraries: prost's from the descriptors in
//! $INTEROP_DESCRIPTORS, Google's from the .proto files below $INTEROP_ROOT. And
//! what the programs know of each type, as neither library can tell.

use prost::Message;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, FieldDescriptorProto, FileDescriptorSet};
use std::{env, fs, path::PathBuf};

fn snake_case(name: &str) -> String {
    let mut result = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !result.is_empty() {
            result.push('_');
        }
        result.extend(c.to_lowercase());
    }
    result
}

/// `interop.A.B` is the type `schema::a::B` to both libraries.
fn path_of(name: &str) -> String {
    let mut words: Vec<String> = name
        .trim_start_matches('.')
        .split('.')
        .skip(1)
        .map(String::from)
        .collect();
    let last = words.pop().unwrap();
    let modules: String = words.iter().map(|word| snake_case(word) + "::").collect();
    format!("schema::{modules}{last}")
}

/// `interop.A.B` has functions whose names end with `A_B`.
fn suffix_of(name: &str) -> String {
    name.trim_start_matches('.')
        .split('.')
        .skip(1)
        .collect::<Vec<_>>()
        .join("_")
}

/// An expression for the tree of the value `x`.
fn tree_of(field: &FieldDescriptorProto) -> String {
    match field.r#type() {
        Type::Message | Type::Group => format!("tree_of_{}(x)", suffix_of(field.type_name())),
        Type::Enum => "i32::from(x).tree()".into(),
        _ => "x.tree()".into(),
    }
}

/// An expression for the value of the tree `x`.
fn value_of(field: &FieldDescriptorProto) -> String {
    let scalar = match field.r#type() {
        Type::Message | Type::Group => return format!("make_{}(x)?", suffix_of(field.type_name())),
        Type::Enum => {
            let path = path_of(field.type_name());
            return format!("{path}::try_from(i32::of_tree(x)?).map_err(|_| \"a closed enum\")?");
        }
        Type::Double => "f64",
        Type::Float => "f32",
        Type::Int64 | Type::Sint64 | Type::Sfixed64 => "i64",
        Type::Uint64 | Type::Fixed64 => "u64",
        Type::Int32 | Type::Sint32 | Type::Sfixed32 => "i32",
        Type::Uint32 | Type::Fixed32 => "u32",
        Type::Bool => "bool",
        Type::String => "String",
        Type::Bytes => "Vec<u8>",
    };
    match scalar {
        "Vec<u8>" => "Vec::<u8>::of_tree(x)?.as_slice()".into(),
        "String" => "String::of_tree(x)?.as_str()".into(),
        _ => format!("{scalar}::of_tree(x)?"),
    }
}

/// The functions of a message of Google's library, and those nested in it.
fn google_functions(name: &str, message: &DescriptorProto, proto3: bool) -> String {
    let (path, suffix) = (path_of(name), suffix_of(name));
    let mut code = String::new();
    let mut tree = String::new();
    let mut make = String::new();
    let entry_of = |field: &FieldDescriptorProto| {
        let nested = message.nested_type.iter();
        let mut entries = nested.filter(|nested| {
            nested
                .options
                .as_ref()
                .is_some_and(|options| options.map_entry())
        });
        entries
            .find(|entry| *field.type_name() == format!(".{name}.{}", entry.name()))
            .cloned()
    };
    for field in &message.field {
        let (id, field_name) = (field.number(), field.name());
        let has_presence =
            !proto3 || field.oneof_index.is_some() || field.r#type() == Type::Message;
        let (get, set) = if let Some(entry) = entry_of(field) {
            let (key, value) = (&entry.field[0], &entry.field[1]);
            (
                format!(
                    "tree.insert(\"{id}\".into(), m.{field_name}().iter().map(|(k, v)| \
                     entry({{ let x = k; {} }}, {{ let x = v; {} }})).collect());\n",
                    tree_of(key),
                    tree_of(value)
                ),
                // One expression, as strings are borrowed.
                format!(
                    "for entry in elements(v)? {{ m.{field_name}_mut().insert({}, {}); }}",
                    value_of(key).replace("(x)", "(&entry[\"1\"])"),
                    value_of(value).replace("(x)", "(&entry[\"2\"])")
                ),
            )
        } else if field.label() == Label::Repeated {
            (
                format!(
                    "tree.insert(\"{id}\".into(), m.{field_name}().iter().map(|x| {}).collect());\n",
                    tree_of(field)
                ),
                format!("for x in elements(v)? {{ m.{field_name}_mut().push({}); }}", value_of(field)),
            )
        } else {
            let condition = if has_presence {
                format!("if m.has_{field_name}() ")
            } else {
                String::new()
            };
            (
                format!("{condition}{{ let x = m.{field_name}(); tree.insert(\"{id}\".into(), {}); }}\n", tree_of(field)),
                format!("let x = v; m.set_{field_name}({});", value_of(field)),
            )
        };
        tree += &get;
        make += &format!("if let Some(v) = tree.get(\"{id}\") {{ {set} }}\n");
    }
    code += &format!(
        "fn tree_of_{suffix}(m: {path}View) -> Json {{\nlet mut tree = Map::new();\n{tree}tree.into()\n}}\n\
         fn make_{suffix}(tree: &Json) -> Result<{path}> {{\nlet mut m = {path}::new();\n{make}Ok(m)\n}}\n"
    );
    for nested in &message.nested_type {
        if !nested
            .options
            .as_ref()
            .is_some_and(|options| options.map_entry())
        {
            code += &google_functions(&format!("{name}.{}", nested.name()), nested, proto3);
        }
    }
    code
}

fn main() {
    for variable in ["INTEROP_DESCRIPTORS", "INTEROP_ROOT"] {
        println!("cargo:rerun-if-env-changed={variable}");
    }
    let path = env::var("INTEROP_DESCRIPTORS").expect("INTEROP_DESCRIPTORS is not set");
    let root = env::var("INTEROP_ROOT").expect("INTEROP_ROOT is not set");
    println!("cargo:rerun-if-changed={path}");
    let files = FileDescriptorSet::decode(&*fs::read(path).unwrap()).unwrap();
    let out = PathBuf::from(env::var("OUT_DIR").unwrap());

    let mut prost = String::new();
    let mut google = String::new();
    let mut functions = String::new();
    for file in &files.file {
        for message in &file.message_type {
            let name = message.name();
            prost += &format!("\"interop.{name}\" => Some(rewrite::<schema::{name}>),\n");
            google += &format!(
                "\"interop.{name}\" => Some((|bytes| read::<schema::{name}>(bytes, |m| tree_of_{name}(m.as_view())), \
                 |tree| Ok(make_{name}(tree)?.serialize()?))),\n"
            );
            functions += &google_functions(
                &format!("interop.{name}"),
                message,
                file.syntax() == "proto3",
            );
        }
    }
    let find = |kind, arms: &str| {
        format!(
            "fn find(name: &str) -> Option<{kind}> {{\nmatch name {{\n{arms}_ => None,\n}}\n}}\n"
        )
    };
    fs::write(out.join("find_prost.rs"), find("Rewrite", &prost)).unwrap();
    fs::write(
        out.join("find_google.rs"),
        find("(Read, Make)", &google) + &functions,
    )
    .unwrap();

    // protobuf_codegen takes protoc from there.
    let protoc = protoc_bin_vendored::protoc_bin_path().unwrap();
    let paths = env::split_paths(&env::var_os("PATH").unwrap_or_default()).collect::<Vec<_>>();
    let paths = std::iter::once(protoc.parent().unwrap().to_path_buf()).chain(paths);
    env::set_var("PATH", env::join_paths(paths).unwrap());
    protobuf_codegen::CodeGen::new()
        .inputs(files.file.iter().map(|file| file.name().to_string()))
        .include(root)
        .generate_and_compile()
        .unwrap();

    prost_build::Config::new().compile_fds(files).unwrap();
}
