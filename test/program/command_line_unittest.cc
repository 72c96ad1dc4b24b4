// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/program/command_line.h"

#include <stdint.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace program {

namespace {

using Words = std::vector<std::string>;

class CommandLineTest : public testing::Test {
 protected:
  std::optional<int> Run(Words words) {
    words.insert(words.begin(), "copy");
    std::vector<char*> argv;
    for (std::string& word : words)
      argv.push_back(word.data());
    argv.push_back(nullptr);
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const std::optional<int> exit_code =
        Parse(command_, static_cast<int>(words.size()), argv.data());
    out_ = testing::internal::GetCapturedStdout();
    err_ = testing::internal::GetCapturedStderr();
    return exit_code;
  }

  // Expects that |words| are wrong and that |problem| is the reason.
  void ExpectWrong(Words words, const std::string& problem) {
    EXPECT_EQ(Run(std::move(words)), kWrongUsage) << problem;
    EXPECT_EQ(out_, "");
    EXPECT_EQ(err_, "disk: " + problem + "\nTry disk copy --help.\n");
  }

  std::string input_;
  std::string output_ = "default";
  Words names_;
  uint64_t count_ = 7;
  bool quick_ = false;
  Words rest_;
  Command command_ = {
      "disk copy",
      "[options] FILE",
      "Copies a file.\n",
      {{"FILE", "the file", &input_},
       {"-o, --output FILE",
        "where the copy goes; this help is so long that it takes two lines",
        &output_},
       {"-n NAME", "repeatable", &names_},
       {"--count N", "how often", &count_},
       {"-q, --quick", "do not check", &quick_}},
      "That is all.\n"};
  std::string out_;
  std::string err_;
};

TEST_F(CommandLineTest, TakesOptionsBetweenArguments) {
  EXPECT_EQ(Run({"-q", "--output", "b", "a", "-n", "x", "--count=3", "-ny"}),
            std::nullopt);
  EXPECT_TRUE(quick_);
  EXPECT_EQ(input_, "a");
  EXPECT_EQ(output_, "b");
  EXPECT_EQ(names_, (Words{"x", "y"}));
  EXPECT_EQ(count_, 3u);
  EXPECT_EQ(out_ + err_, "");
}

TEST_F(CommandLineTest, LeavesDefaultsAlone) {
  EXPECT_EQ(Run({"a"}), std::nullopt);
  EXPECT_EQ(output_, "default");
  EXPECT_EQ(count_, 7u);
}

TEST_F(CommandLineTest, LastOfRepeatedOptionsCounts) {
  EXPECT_EQ(Run({"a", "-o", "1", "--output=2", "-qo3", "-q"}), std::nullopt);
  EXPECT_EQ(output_, "3");
}

TEST_F(CommandLineTest, ValueMayBeginWithDash) {
  EXPECT_EQ(Run({"-o", "--quick", "-n-", "-"}), std::nullopt);
  EXPECT_EQ(output_, "--quick");
  EXPECT_EQ(names_, Words{"-"});
  EXPECT_EQ(input_, "-");
  EXPECT_FALSE(quick_);
}

TEST_F(CommandLineTest, ValueMayHaveEqualsSign) {
  EXPECT_EQ(Run({"--output=a=b", "a"}), std::nullopt);
  EXPECT_EQ(output_, "a=b");
}

TEST_F(CommandLineTest, NoOptionsAfterDashes) {
  EXPECT_EQ(Run({"--", "--quick"}), std::nullopt);
  EXPECT_EQ(input_, "--quick");
  ExpectWrong({"a", "--", "b"}, "'b' is one argument too many");
}

TEST_F(CommandLineTest, RestIsWhatFollowsDashes) {
  command_.rest = &rest_;
  EXPECT_EQ(Run({"a", "--", "ls", "-q", "--", "c"}), std::nullopt);
  EXPECT_EQ(rest_, (Words{"ls", "-q", "--", "c"}));
  EXPECT_FALSE(quick_);
  EXPECT_EQ(Run({"a", "--"}), std::nullopt);
  EXPECT_EQ(rest_, Words());
  ExpectWrong({"a", "ls"},
              "'ls' is one argument too many; a command stands after --");
  ExpectWrong({"--", "a"}, "FILE is missing");
}

TEST_F(CommandLineTest, TheLastArgumentMayBeSeveral) {
  command_.options.push_back({"MORE", "others", &rest_});
  EXPECT_EQ(Run({"a", "b", "-q", "c"}), std::nullopt);
  EXPECT_EQ(input_, "a");
  EXPECT_EQ(rest_, (Words{"b", "c"}));
  ExpectWrong({"a"}, "MORE is missing");
  ExpectWrong({"a", "b", ""}, "MORE is missing");
}

TEST_F(CommandLineTest, SaysWhatIsWrong) {
  ExpectWrong({}, "FILE is missing");
  ExpectWrong({""}, "FILE is missing");
  ExpectWrong({"a", "b"}, "'b' is one argument too many");
  ExpectWrong({"--slow", "a"}, "unknown option '--slow'");
  ExpectWrong({"--slow=1", "a"}, "unknown option '--slow=1'");
  ExpectWrong({"--cuont=1", "a"},
              "unknown option '--cuont=1'; did you mean '--count'?");
  ExpectWrong({"-x"}, "unknown option '-x'");
  ExpectWrong({"-qx"}, "unknown option '-x'");
  ExpectWrong({"-\xe9"}, "unknown option '-\\351'");
  ExpectWrong({"a", "--output"}, "--output needs a value");
  ExpectWrong({"a", "--output="}, "--output needs a value");
  ExpectWrong({"a", "-o"}, "-o needs a value");
  ExpectWrong({"a", "-qo"}, "-o needs a value");
  ExpectWrong({"a", "-o", ""}, "-o needs a value");
  ExpectWrong({"a", "--quick=1"}, "--quick takes no value");
  ExpectWrong({"--help=me"}, "--help takes no value");
}

TEST_F(CommandLineTest, NumbersAreDecimal) {
  EXPECT_EQ(Run({"a", "--count", "18446744073709551615"}), std::nullopt);
  EXPECT_EQ(count_, UINT64_MAX);
  for (const std::string value :
       {"18446744073709551616", "-1", "+1", " 1", "1x", "0x1", "x"}) {
    ExpectWrong({"a", "--count", value},
                "--count takes a number, not '" + value + "'");
  }
}

TEST_F(CommandLineTest, NumbersFitTheirTarget) {
  uint32_t number = 0;
  command_.options.push_back({"--small N", "a number", &number});
  EXPECT_EQ(Run({"a", "--small=4294967295"}), std::nullopt);
  EXPECT_EQ(number, UINT32_MAX);
  ExpectWrong({"a", "--small=4294967296"},
              "--small takes a number, not '4294967296'");
}

TEST_F(CommandLineTest, HelpIsTheTable) {
  EXPECT_EQ(Run({"a", "b", "--help", "--nonsense"}), kSuccess);
  EXPECT_EQ(err_, "");
  EXPECT_EQ(
      out_,
      "Usage: disk copy [options] FILE\n"
      "\n"
      "Copies a file.\n"
      "\n"
      "  FILE               the file\n"
      "  -o, --output FILE  where the copy goes; this help is so long that it "
      "takes two\n"
      "                     lines\n"
      "  -n NAME            repeatable\n"
      "  --count N          how often\n"
      "  -q, --quick        do not check\n"
      "  -h, --help         print this\n"
      "  --version          print the version\n"
      "\n"
      "That is all.\n");
  const std::string help = out_;
  EXPECT_EQ(Run({"-h"}), kSuccess);
  EXPECT_EQ(out_, help);
}

TEST_F(CommandLineTest, VersionIsOfTheProgram) {
  EXPECT_EQ(Run({"--version"}), kSuccess);
  EXPECT_EQ(out_.substr(0, 5), "disk ");
}

}  // namespace

}  // namespace program
