// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/workloads/workload_program.h"

#include <math.h>

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace protozero::workloads {
namespace {

WorkloadResult Measured() {
  WorkloadResult result;
  result.ns_per_operation = 12.5;
  result.operations = 1000;
  return result;
}

WorkloadResult Recorded() {
  WorkloadResult result = Measured();
  result.events_written = 10;
  result.events_received = 8;
  result.events_lost = 2;
  return result;
}

TEST(WorkloadResultTest, IsPrintedAsJson) {
  WorkloadResult result = Recorded();
  result.allocations = 7;
  EXPECT_EQ(ToJson("A_B_On", result),
            "{\"name\": \"A_B_On\", \"ns_per_operation\": 12.5, "
            "\"operations\": 1000, \"events_written\": 10, "
            "\"events_received\": 8, \"events_lost\": 2, \"allocations\": 7, "
            "\"figures\": {}}");
  result.figures = {{"p50_ns", 1.25}, {"p99_ns", 1e6}};
  const std::string json = ToJson("A_B_On", result);
  EXPECT_NE(json.find("\"figures\": {\"p50_ns\": 1.25, \"p99_ns\": 1e+06}}"),
            std::string::npos)
      << json;
}

TEST(WorkloadResultTest, IsRightIfEventsAreAccountedFor) {
  EXPECT_EQ(CheckResult("A_B_On", Recorded()), "");
  EXPECT_EQ(CheckResult("A_B_Off", Measured()), "");
  EXPECT_EQ(CheckResult("A_B_Untraced", Measured()), "");
}

TEST(WorkloadResultTest, IsWrongIfEventsAreNotAccountedFor) {
  for (uint64_t WorkloadResult::* count :
       {&WorkloadResult::events_written, &WorkloadResult::events_received,
        &WorkloadResult::events_lost}) {
    WorkloadResult result = Recorded();
    ++(result.*count);
    EXPECT_NE(CheckResult("A_B_On", result), "");
    result = Measured();
    ++(result.*count);
    EXPECT_NE(CheckResult("A_B_Off", result), "");
    EXPECT_NE(CheckResult("A_B_Untraced", result), "");
  }
  EXPECT_NE(CheckResult("A_B_On", Measured()), "");
}

TEST(WorkloadResultTest, IsWrongIfItMakesNoSense) {
  EXPECT_NE(CheckResult("A_B", Measured()), "");
  WorkloadResult result = Measured();
  result.problem = "the sum is wrong";
  EXPECT_EQ(CheckResult("A_B_Off", result), "the sum is wrong");
  result = Measured();
  result.operations = 0;
  EXPECT_NE(CheckResult("A_B_Off", result), "");
  for (double time : {0.0, -1.0, HUGE_VAL}) {
    result = Measured();
    result.ns_per_operation = time;
    EXPECT_NE(CheckResult("A_B_Off", result), "");
  }
  result = Measured();
  result.figures = {{"p50_ns", HUGE_VAL}};
  EXPECT_NE(CheckResult("A_B_Off", result), "");
}

class WorkloadProgramTest : public testing::Test {
 protected:
  // Runs the program. Returns the exit code; the output is in |out_| and
  // |err_|.
  int Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "program");
    std::vector<char*> argv;
    for (std::string& argument : arguments)
      argv.push_back(argument.data());
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int code =
        RunWorkloadProgram(static_cast<int>(argv.size()), argv.data(), rows_);
    out_ = testing::internal::GetCapturedStdout();
    err_ = testing::internal::GetCapturedStderr();
    return code;
  }

  const std::vector<WorkloadRow> rows_ = {
      {"A_B_Off",
       [](const WorkloadOptions& options) {
         WorkloadResult result = Measured();
         result.operations = options.quick ? 1 : 1000;
         return result;
       }},
      {"A_B_On", [](const WorkloadOptions&) { return Measured(); }},
  };
  std::string out_;
  std::string err_;
};

TEST_F(WorkloadProgramTest, ListsItsRows) {
  EXPECT_EQ(Run({"--list"}), 0);
  EXPECT_EQ(out_, "A_B_Off\nA_B_On\n");
}

TEST_F(WorkloadProgramTest, RunsARow) {
  EXPECT_EQ(Run({"--run=A_B_Off"}), 0);
  EXPECT_EQ(out_.substr(0, 18), "{\"name\": \"A_B_Off\"");
  EXPECT_NE(out_.find("\"operations\": 1000,"), std::string::npos);
  EXPECT_EQ(Run({"--run=A_B_Off", "--quick"}), 0);
  EXPECT_NE(out_.find("\"operations\": 1,"), std::string::npos);
}

TEST_F(WorkloadProgramTest, PrintsNoWrongResult) {
  EXPECT_EQ(Run({"--run=A_B_On"}), 1);
  EXPECT_EQ(out_, "");
  EXPECT_EQ(err_, "A_B_On: no event was written\n");
}

TEST_F(WorkloadProgramTest, SaysHowItIsUsed) {
  const std::vector<std::vector<std::string>> wrong = {
      {},
      {"--run=A_B_Of"},
      {"--run="},
      {"--quick"},
      {"A_B_Off"},
      {"--list", "--run=A_B_Off"},
      {"--list", "--verbose"},
  };
  for (const std::vector<std::string>& arguments : wrong) {
    EXPECT_EQ(Run(arguments), 2);
    EXPECT_EQ(out_, "");
    EXPECT_NE(err_, "");
  }
}

}  // namespace
}  // namespace protozero::workloads
