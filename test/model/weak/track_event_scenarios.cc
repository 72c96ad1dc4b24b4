// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Things that threads that write track events share: the call sites and their
// ids, the declared categories, the interned strings. src/tracing/track_event.

#include <memory>
#include <string_view>

#include "protozero/tracing/task.h"
#include "protozero/tracing/track_event.h"
#include "src/tracing/track_event/category_rules.h"
#include "src/tracing/track_event/registry.h"
#include "src/tracing/track_event/task_numbers.h"
#include "test/model/weak/scenarios.h"

namespace protozero::weak {
namespace {

// Two threads come to a new call site.
struct NewSite {
  internal::TraceSite site{trace::TrackEvent::TYPE_INSTANT, "category", "name"};
  void Run(int) {
    site.Sessions();
    Check(site.has_fields(), "the site has ids");
    Check(internal::CategoryOf(site) == "category" &&
              internal::NameOf(site) == "name",
          "the ids are those of the site");
  }
  void End() {}
};

// A third thread updates all sites meanwhile.
struct UpdatedSite : NewSite {
  std::unique_ptr<internal::TraceCategory> category;
  void Run(int thread) {
    if (thread == 2)
      category = std::make_unique<internal::TraceCategory>("other", "", "");
    else
      NewSite::Run(thread);
  }
};

// One thread gives an id to a string, and another one reads all that have ids.
struct Strings {
  internal::StringTable table;
  void Run(int thread) {
    if (thread == 0) {
      table.Intern("text");
    } else if (table.size() != 0) {
      Check(std::string_view(table.text(1)) == "text", "an id has its text");
    }
  }
  void End() {}
};

// One thread declares a category, and another one looks for it.
struct Categories {
  std::unique_ptr<internal::TraceCategory> category;
  internal::TraceSequence sequence{1};
  Categories() {
    sequence.rules =
        std::make_shared<const internal::CategoryRules>(std::string_view());
  }
  void Run(int thread) {
    if (thread == 0)
      category = std::make_unique<internal::TraceCategory>("category", "", "");
    else
      internal::WantsCategory(sequence, "category");
  }
  void End() {}
};

// Two threads spawn tasks at a new site.
struct NewTaskSite {
  TaskSite site{"task", "file", 1};
  void Run(int) {
    const uint16_t id = internal::TaskSiteId(&site);
    Check(internal::g_task_sites[id].name == "task", "an id has its site");
  }
  void End() {}
};

}  // namespace

std::vector<Scenario> TrackEventScenarios() {
  return {
      MakeScenario<NewSite>("new site", 2),
      MakeScenario<UpdatedSite>("updated site", 3),
      MakeScenario<Strings>("strings", 2),
      MakeScenario<Categories>("categories", 2),
      MakeScenario<NewTaskSite>("new task site", 2),
  };
}

}  // namespace protozero::weak
