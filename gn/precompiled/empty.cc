// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// A target with precompiled headers needs a source that uses them.
