// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_COMMANDS_H_
#define SRC_PZTRACE_COMMANDS_H_

#include <string>
#include <vector>

namespace pztrace {

// The commands of pztrace. argv[0] is the name of the command; each returns the
// exit code.
int RecordMain(int argc, char** argv);
int ListMain(int argc, char** argv);
int StatMain(int argc, char** argv);
int RecoverMain(int argc, char** argv);
int SnapshotMain(int argc, char** argv);
int TriggerMain(int argc, char** argv);
int CatMain(int argc, char** argv);
int SymbolizeMain(int argc, char** argv);
int CutMain(int argc, char** argv);
int MergeMain(int argc, char** argv);
int TopMain(int argc, char** argv);
int DiffMain(int argc, char** argv);
int WhyMain(int argc, char** argv);
int TasksMain(int argc, char** argv);
int SvgMain(int argc, char** argv);
int HtmlMain(int argc, char** argv);
int CheckMain(int argc, char** argv);
int ExportMain(int argc, char** argv);
int SqlMain(int argc, char** argv);

// Writes all packets of the files as one trace. Returns false, and has printed
// why, if not all is there. |command| has the files as arguments.
bool MergeTraces(const std::string& output,
                 const std::vector<std::string>& files,
                 const char* command);

}  // namespace pztrace

#endif  // SRC_PZTRACE_COMMANDS_H_
