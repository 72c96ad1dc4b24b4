// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_PLUGIN_SYSTEM_MACROS_USE_H_
#define TEST_PLUGIN_SYSTEM_MACROS_USE_H_

// Code that uses the generated code for names that are macros. It uses names
// that never are, so it compiles after any header.

#include <stddef.h>

#include <string>

#include "protozero/scattered_heap_buffer.h"
#include "test/protos/plugin/macros.pbzero.h"
#include "test/protos/plugin/macros_import.pbzero.h"

namespace system_macros {

// Namespaces have no second names.
#pragma push_macro("far")
#undef far
#pragma push_macro("IN")
#undef IN
#pragma push_macro("OUT")
#undef OUT
namespace mz = ::macros::far::IN::pbzero;
namespace oz = ::macros::OUT::pbzero;
#pragma pop_macro("OUT")
#pragma pop_macro("IN")
#pragma pop_macro("far")

static_assert(mz::ERROR_ == 0 && mz::LOG_INFO_ == 1 && mz::DELETE__ == 2, "");
static_assert(mz::Level::I_ == 4 && mz::Level::O_RDONLY_ == 7, "");
static_assert(mz::OUT__::IN_ == 0 && mz::OUT_ == 1 && mz::DELETE_ == 2, "");
static_assert(oz::Imported::NO_ERROR_ == 0 && oz::Imported::UNIX == 1, "");

inline bool WritesAndReads() {
  using M = mz::GetMessage_;
  protozero::HeapBuffered<M> m;
  m->set_st_mtime(1);
  m->add_si_pid(2);
  m->add_si_pid(-3);
  m->set_minor(4);
  m->add_small("small");
  m->set_max(mz::Level::DELETE__);
  const M::Mode modes[] = {M::AF_INET_, M::Mode::POLLIN_, M::TRUE__,
                           M::Mode::SA_SIGINFO_};
  m->set_near(modes, 4);
  M::IGNORE_* nested = m->set_far();
  nested->set_ignore_();
  m->set_roundup()->set_x(5);
  m->set_far_(6);
  m->set_st_mtime_("bytes");
  m->add_sa_handler("key")->set_ignore_();
  const std::string bytes = m.SerializeAsString();

  const M::Decoder d(bytes);
  bool ok = d.st_mtime__() == 1 && *d.si_pid_() == 2 && d.minor_() == 4 &&
            d.interface_().ToStdString() == "struct" &&
            (*d.small_()).ToStdString() == "small" && d.has_max() &&
            d.max_enum() == mz::DELETE__ && d.far_() == 6 &&
            d.st_mtime_().ToStdString() == "bytes" && !d.has_s_ifreg() &&
            !d.s_ifreg() && d.DELETE_case() == M::DELETECase::kRoundup;
  size_t i = 0;
  for (const M::Mode mode : d.near_enum())
    ok = ok && mode == modes[i++];
  ok = ok && i == 4;
  const M::IGNORE_::Decoder ignored(d.far__());
  ok = ok && ignored.has_ignore_();
  const oz::Imported_interface::Decoder imported(d.roundup_());
  ok = ok && imported.x() == 5;

  protozero::HeapBuffered<mz::DrawText_> extension;
  extension->set_createfile()->set_sock_dgram(oz::Imported::SOCK_STREAM_::UNIX);
  const std::string extended = extension.SerializeAsString();
  const mz::hyper_::Decoder added(
      mz::DrawText_::Decoder(extended).createfile());
  return ok && added.sock_dgram() == 1;
}

}  // namespace system_macros

#endif  // TEST_PLUGIN_SYSTEM_MACROS_USE_H_
