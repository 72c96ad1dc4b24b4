// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// A service and a client of gRPC in one program. Neither makes an object of
// libprotobuf: both send what setters have encoded, and read with decoders.

#include <stdio.h>

#include <future>
#include <memory>
#include <string>

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include "byte_buffer.h"
#include "greeter.grpc.pb.h"
#include "greeter.pbzero.h"

namespace {

using greeter::pbzero::Reply;
using greeter::pbzero::Request;

// The generated service, with a method that takes bytes.
using RawGreeter =
    greeter::Greeter::WithRawCallbackMethod_Greet<greeter::Greeter::Service>;

class GreeterService final : public RawGreeter {
 public:
  grpc::ServerUnaryReactor* Greet(grpc::CallbackServerContext* context,
                                  const grpc::ByteBuffer* received,
                                  grpc::ByteBuffer* sent) override {
    grpc::Slice slice;
    const Request::Decoder request(ToConstBytes(*received, &slice));
    const auto reply = std::make_shared<protozero::HeapBuffered<Reply>>();
    (*reply)->set_text("Hello, " + request.name().ToStdString());
    *sent = ToByteBuffer(reply);
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    const bool is_ok = request.status() == protozero::DecodeStatus::kOk;
    reactor->Finish(is_ok ? grpc::Status::OK
                          : grpc::Status(grpc::INVALID_ARGUMENT, "malformed"));
    return reactor;
  }
};

// A stub that is not generated sends bytes.
bool Greet(const std::string& address, size_t name_size) {
  grpc::GenericStub stub(
      grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  const auto request = std::make_shared<protozero::HeapBuffered<Request>>();
  (*request)->set_name(std::string(name_size, 'x'));
  const grpc::ByteBuffer sent = ToByteBuffer(request);
  grpc::ByteBuffer received;
  grpc::ClientContext context;
  std::promise<grpc::Status> done;
  stub.UnaryCall(&context, "/greeter.Greeter/Greet", grpc::StubOptions(), &sent,
                 &received,
                 [&done](grpc::Status status) { done.set_value(status); });
  const grpc::Status status = done.get_future().get();
  grpc::Slice slice;
  const Reply::Decoder reply(ToConstBytes(received, &slice));
  printf("%s: a reply of %zu characters: %.12s\n",
         status.ok() ? "ok" : status.error_message().c_str(), reply.text().size,
         reply.text().ToStdString().c_str());
  return status.ok();
}

}  // namespace

int main() {
  GreeterService service;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("localhost:0", grpc::InsecureServerCredentials(),
                           &port);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  const std::string address = "localhost:" + std::to_string(port);
  // The second request has many slices.
  const bool is_ok = Greet(address, 5) && Greet(address, 100000);
  server->Shutdown();
  return is_ok ? 0 : 1;
}
