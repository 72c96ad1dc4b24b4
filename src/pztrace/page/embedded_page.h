// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_PAGE_EMBEDDED_PAGE_H_
#define SRC_PZTRACE_PAGE_EMBEDDED_PAGE_H_

#include <string>

#include "protozero/const_bytes.h"

namespace pztrace {

// The pages of timeline.html and difference.html, with their style
// and scripts. embed_page.py makes them.
extern const protozero::ConstBytes kTimelinePage;
extern const protozero::ConstBytes kDifferencePage;

// Returns |page| with |json| in the place of its text @TRACE@. No name in it
// becomes markup.
std::string FilledPage(const protozero::ConstBytes& page,
                       const std::string& json);

}  // namespace pztrace

#endif  // SRC_PZTRACE_PAGE_EMBEDDED_PAGE_H_
