# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""cc_pbzero_library(), for BUILD files."""

load("@rules_cc//cc:defs.bzl", "cc_library")

PbzeroInfo = provider(
    "Schemas that others may import.",
    fields = {
        "protos": "depset of files",
        "roots": "depset of the folders that their paths in imports begin in",
    },
)

def _join(*parts):
    return "/".join([part for part in parts if part]) or "."

def _pbzero_sources_impl(ctx):
    folder = ctx.label.workspace_root
    if ctx.attr.proto_root:
        folder = _join(folder, ctx.label.package, ctx.attr.proto_root)
    begin = folder + "/" if folder else ""
    info = PbzeroInfo(
        protos = depset(
            ctx.files.srcs,
            transitive = [dep[PbzeroInfo].protos for dep in ctx.attr.deps],
        ),
        roots = depset(
            [_join(folder)],
            transitive = [dep[PbzeroInfo].roots for dep in ctx.attr.deps],
        ),
    )
    out = _join(ctx.bin_dir.path, folder)
    sources = []
    headers = []
    for proto in ctx.files.srcs:
        if not proto.path.startswith(begin) or not proto.is_source:
            fail("%s is not a file of the tree below %s" % (proto.path, _join(folder)))
        stem = proto.path[len(ctx.label.workspace_root) + 1 if ctx.label.workspace_root else 0:]
        stem = stem[len(ctx.label.package) + 1 if ctx.label.package else 0:-len(".proto")]
        outputs = [ctx.actions.declare_file(stem + end) for end in (".pbzero.cc", ".pbzero.h")]
        sources.append(outputs[0])
        headers.append(outputs[1])
        args = ctx.actions.args()
        args.add(ctx.executable.plugin, format = "--plugin=protoc-gen-pbzero=%s")
        if ctx.attr.wrapper_namespace:
            args.add("--pbzero_opt=wrapper_namespace=" + ctx.attr.wrapper_namespace)
        args.add_all(ctx.attr.options, format_each = "--pbzero_opt=%s")
        args.add("--pbzero_out=" + out)
        args.add_all(info.roots, before_each = "-I")
        args.add(proto)
        ctx.actions.run(
            executable = ctx.executable.protoc,
            arguments = [args],
            inputs = info.protos,
            tools = [ctx.executable.plugin],
            outputs = outputs,
            mnemonic = "Pbzero",
            progress_message = "Generating %s.pbzero.h" % stem,
        )
    return [
        info,
        DefaultInfo(files = depset(sources)),
        OutputGroupInfo(headers = depset(headers)),
    ]

_pbzero_sources = rule(
    implementation = _pbzero_sources_impl,
    attrs = {
        "deps": attr.label_list(providers = [PbzeroInfo]),
        "options": attr.string_list(),
        "plugin": attr.label(executable = True, cfg = "exec", allow_files = True, mandatory = True),
        "proto_root": attr.string(),
        "protoc": attr.label(executable = True, cfg = "exec", allow_files = True, mandatory = True),
        "srcs": attr.label_list(allow_files = [".proto"]),
        "wrapper_namespace": attr.string(),
    },
)

def _sources_label(label):
    """Of a cc_pbzero_library: what generates its sources."""
    if ":" not in label:
        label += ":" + label.rpartition("/")[2]
    return label + "_pbzero"

def cc_pbzero_library(
        name,
        srcs,
        deps = [],
        wrapper_namespace = "pbzero",
        options = [],
        proto_root = "",
        protoc = "@protozero//bazel:protoc",
        plugin = "@protozero//bazel:plugin",
        **kwargs):
    """A cc_library of the classes that the plugin makes of schemas.

    Targets that depend on it include "<path of the proto>.pbzero.h".

    Args:
      name: of the library.
      srcs: the schemas.
      deps: the cc_pbzero_library of the schemas that they import.
      wrapper_namespace: innermost namespace of the classes.
      options: further ones of the plugin.
      proto_root: the folder of this package that paths in imports begin in;
        otherwise, that is the root of the repository.
      protoc: the program.
      plugin: the program.
      **kwargs: for cc_library.
    """
    generated = name + "_pbzero"
    _pbzero_sources(
        name = generated,
        srcs = srcs,
        deps = [_sources_label(dep) for dep in deps],
        wrapper_namespace = wrapper_namespace,
        options = options,
        proto_root = proto_root,
        protoc = protoc,
        plugin = plugin,
        visibility = kwargs.get("visibility"),
    )
    native.filegroup(
        name = generated + "_headers",
        srcs = [generated],
        output_group = "headers",
    )
    cc_library(
        name = name,
        srcs = [generated],
        hdrs = [generated + "_headers"],
        includes = [proto_root] if proto_root else [],
        deps = deps + ["@protozero//:protozero"],
        **kwargs
    )
