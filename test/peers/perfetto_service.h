// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_PEERS_PERFETTO_SERVICE_H_
#define TEST_PEERS_PERFETTO_SERVICE_H_

// Runs the tracing service that Perfetto's SDK has inside, with sockets of
// these names. Returns false if there can be no such sockets, and not at all
// otherwise.
bool RunPerfettoService(const char* producer_socket,
                        const char* consumer_socket);

#endif  // TEST_PEERS_PERFETTO_SERVICE_H_
