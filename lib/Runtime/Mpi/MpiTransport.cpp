// The transport of processes that mpirun started (Open MPI, or another MPI 3).
#include "MpiChannel.h"
#include "MpiStatus.h"

#include "tpsp/Runtime/TransportPlugin.h"

#include <csignal>
#include <unistd.h>

namespace tpsp::rt {
namespace {

constexpr unsigned secondsToStop = 3;

class MpiTransport final : public Transport {
public:
  /// Returns "", or why it cannot be opened.
  std::string open();

  int64_t rank() const override { return worldRank; }
  int64_t size() const override { return worldSize; }
  int64_t ranksOnHost() const override { return hostSize; }

  Channel &everyone() override { return *all; }
  Status openChannel(int64_t color, std::unique_ptr<Channel> &out) override {
    return MpiChannel::open(color, process, out);
  }
  void abort() override { process.aborted = true; }
  void announceFailure(const std::string &message) override {
    process.notices.announce(message);
  }
  bool isReporter() override { return process.notices.isFirst(); }
  void leave() override { process.notices.linger(); }
  void finish() override { MPI_Finalize(); }

private:
  int worldRank = 0, worldSize = 1, hostSize = 1;
  ProcessState process;
  std::unique_ptr<Channel> all;
};

std::string MpiTransport::open() {
  int provided = 0;
  if (int code =
          MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
      code != MPI_SUCCESS)
    return mpiFailure("MPI_Init_thread", code);
  if (provided < MPI_THREAD_MULTIPLE)
    return "this MPI does not let several threads of a process communicate "
           "(MPI_THREAD_MULTIPLE)";
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &worldRank);
  MPI_Comm_size(MPI_COMM_WORLD, &worldSize);
  MPI_Comm host;
  if (int code = MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0,
                                     MPI_INFO_NULL, &host);
      code != MPI_SUCCESS)
    return mpiFailure("MPI_Comm_split_type", code);
  MPI_Comm_size(host, &hostSize);
  MPI_Comm_free(&host);
  // mpirun ends all processes when one dies. Processes that waited for it can
  // then say what they waited for. The others end a little later.
  std::signal(SIGTERM, [](int) {
    stopRequested = true;
    alarm(secondsToStop);
  });
  if (std::string problem = process.notices.open(); !problem.empty())
    return problem;
  return openChannel(/*color=*/0, all).message();
}

} // namespace
} // namespace tpsp::rt

extern "C" __attribute__((visibility("default"))) tpsp::rt::Transport *
tpsp_open_transport(int version, std::string &error) {
  using namespace tpsp::rt;
  if (version != transportVersion) {
    error = "it is of another version of tpsp";
    return nullptr;
  }
  static MpiTransport transport;
  error = transport.open();
  return error.empty() ? &transport : nullptr;
}
