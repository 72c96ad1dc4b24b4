// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_EMBEDDED_PAGE_H_
#define SRC_PZTRACE_EMBEDDED_PAGE_H_

#include "protozero/const_bytes.h"

namespace pztrace {

// The page of page/timeline.html, with its style and scripts. It has the text
// @TRACE@ once, in the place of the trace. embed_page.py makes it.
extern const protozero::ConstBytes kTimelinePage;

}  // namespace pztrace

#endif  // SRC_PZTRACE_EMBEDDED_PAGE_H_
