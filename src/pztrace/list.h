// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_LIST_H_
#define SRC_PZTRACE_LIST_H_

#include <string>
#include <vector>

namespace pztrace {

// Runs a service without sessions until the command ends, or for ever if it is
// empty. Prints each data source that a producer offers, with its categories of
// events, when it is offered; equal ones are printed once. Producers connect to
// |socket|, or to one in RuntimeFolder() if it is empty. Returns false, and has
// printed why, if the service cannot be run, or if the command failed.
bool ListDataSources(const std::string& socket,
                     const std::vector<std::string>& command);

}  // namespace pztrace

#endif  // SRC_PZTRACE_LIST_H_
