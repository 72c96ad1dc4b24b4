// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Writes and reads messages with our generated classes, for run.py.
//
//   {"type": "...", "tree": {...}}  the answer is {"forms": {"...": "hex"}}
//   {"type": "...", "hex": "..."}   the answer is {"tree": {...}}

#include <stdexcept>
#include <string>

#include "protozero/decode_status.h"
#include "test/interop/tree.h"
#include "test/interop/walker.h"

namespace {

using protozero::test::Json;

Json Answer(const Json& request) {
  const protozero::test::Walker& walker =
      protozero::test::Walkers().at(request["type"].get<std::string>());
  Json answer = Json::object();
  if (request.contains("hex")) {
    auto status = protozero::DecodeStatus::kOk;
    answer["tree"] =
        walker.read(protozero::test::FromHexadecimal(request["hex"]), &status);
    if (status != protozero::DecodeStatus::kOk)
      throw std::runtime_error(protozero::DecodeStatusToString(status));
  } else {
    for (const protozero::test::Form& form : protozero::test::kForms) {
      answer["forms"][form.name] =
          protozero::test::Hexadecimal(walker.write(request["tree"], form));
    }
  }
  return answer;
}

}  // namespace

int main() {
  return protozero::test::Serve(Answer);
}
