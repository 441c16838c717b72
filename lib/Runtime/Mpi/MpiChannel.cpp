#include "MpiChannel.h"

#include "MpiStatus.h"

#include <algorithm>
#include <chrono>
#include <climits>
#include <thread>

namespace tpsp::rt {
namespace {

using Clock = std::chrono::steady_clock;
using Kind = ExchangeFailure::Kind;

int64_t bytesOf(const std::vector<Piece> &pieces) {
  int64_t bytes = 0;
  for (const Piece &piece : pieces)
    bytes += piece.rows * piece.bytes;
  return bytes;
}

bool fail(ExchangeFailure &failure, std::string text) {
  failure = {Kind::Broken, {}, std::move(text)};
  return false;
}

} // namespace

std::atomic<bool> stopRequested{false};

Status MpiChannel::open(int64_t color, ProcessState &process,
                        std::unique_ptr<Channel> &out) {
  std::unique_ptr<MpiChannel> channel(new MpiChannel(process));
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int code = MPI_Comm_split(MPI_COMM_WORLD, static_cast<int>(color), rank,
                            &channel->communicator);
  if (code != MPI_SUCCESS)
    return {TPSP_RT_INTERNAL, mpiFailure("MPI_Comm_split", code)};
  MPI_Comm_set_errhandler(channel->communicator, MPI_ERRORS_RETURN);
  if (std::string problem = channel->findMembers(); !problem.empty())
    return {TPSP_RT_INTERNAL, problem};
  out = std::move(channel);
  return {};
}

std::string MpiChannel::findMembers() {
  int size = 0;
  MPI_Comm_size(communicator, &size);
  MPI_Group here, world;
  MPI_Comm_group(communicator, &here);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  for (int member = 0; member < size; ++member) {
    int rank = 0;
    if (int code = MPI_Group_translate_ranks(here, 1, &member, world, &rank);
        code != MPI_SUCCESS)
      return mpiFailure("MPI_Group_translate_ranks", code);
    members[rank] = member;
  }
  MPI_Group_free(&here);
  MPI_Group_free(&world);
  return "";
}

// The communicator and the types are left for MPI to free. After a failure,
// collective calls would hang.
MpiChannel::~MpiChannel() = default;

bool MpiChannel::exchange(const Exchange &exchange, ExchangeFailure &failure) {
  requests.clear();
  // Sends are posted first. A long message is announced, and sent when the
  // receiver has requested it. This rank's announcement must come before its
  // own requests. Otherwise the other rank begins to send, and its request for
  // this rank's message is queued behind that data. The two directions of a
  // link would then alternate.
  for (const Piece &piece : exchange.sends)
    if (std::string problem = post(piece, exchange.tag, /*isSend=*/true);
        !problem.empty())
      return fail(failure, problem);
  for (const Piece &piece : exchange.receives)
    if (std::string problem = post(piece, exchange.tag, /*isSend=*/false);
        !problem.empty())
      return fail(failure, problem);
  if (wait(exchange, failure))
    return true;
  abandonReceives(exchange.sends.size());
  return false;
}

/// After this the caller may reuse its memory. Sends are not cancelled: MPI has
/// already copied short messages. Long ones are in an arena, which outlives a
/// failure (Launch).
void MpiChannel::abandonReceives(size_t first) {
  for (size_t i = first; i < requests.size(); ++i) {
    if (requests[i] == MPI_REQUEST_NULL)
      continue;
    MPI_Cancel(&requests[i]);
    MPI_Request_free(&requests[i]);
  }
}

std::string MpiChannel::post(const Piece &piece, int tag, bool isSend) {
  MPI_Datatype type;
  if (std::string problem = typeOf(piece, type); !problem.empty())
    return problem;
  auto member = members.find(piece.rank);
  if (member == members.end())
    return "rank " + std::to_string(piece.rank) + " is not of this group";
  requests.push_back(MPI_REQUEST_NULL);
  if (isSend) {
    int code = MPI_Isend(piece.data, 1, type, member->second, tag, communicator,
                         &requests.back());
    return code == MPI_SUCCESS ? "" : mpiFailure("MPI_Isend", code);
  }
  int code = MPI_Irecv(piece.data, 1, type, member->second, tag, communicator,
                       &requests.back());
  return code == MPI_SUCCESS ? "" : mpiFailure("MPI_Irecv", code);
}

std::string MpiChannel::typeOf(const Piece &piece, MPI_Datatype &out) {
  auto [entry, isNew] = types.insert(
      {{piece.rows, piece.bytes, piece.stride}, MPI_DATATYPE_NULL});
  out = entry->second;
  if (!isNew)
    return "";
  // MPI counts in int, so longer runs are of larger units.
  int64_t unit = 1;
  while (piece.bytes / unit > INT_MAX && piece.bytes % (2 * unit) == 0)
    unit *= 2;
  if (piece.bytes / unit > INT_MAX || piece.rows > INT_MAX)
    return "a message of " + std::to_string(piece.rows) + " runs of " +
           std::to_string(piece.bytes) + " bytes is more than MPI can count";
  MPI_Datatype element = MPI_BYTE, type = MPI_DATATYPE_NULL;
  if (unit > 1)
    MPI_Type_contiguous(static_cast<int>(unit), MPI_BYTE, &element);
  int code = MPI_Type_create_hvector(
      static_cast<int>(piece.rows), static_cast<int>(piece.bytes / unit),
      static_cast<MPI_Aint>(piece.stride), element, &type);
  if (code == MPI_SUCCESS)
    code = MPI_Type_commit(&type);
  if (unit > 1)
    MPI_Type_free(&element);
  if (code != MPI_SUCCESS)
    return mpiFailure("MPI_Type_create_hvector", code);
  entry->second = out = type;
  return "";
}

bool MpiChannel::wait(const Exchange &exchange, ExchangeFailure &failure) {
  auto begin = Clock::now();
  pacing.begin(std::max(bytesOf(exchange.sends), bytesOf(exchange.receives)));
  std::chrono::duration<double> limit(exchange.timeoutSeconds);
  while (true) {
    int done = 0;
    int code = MPI_Testall(static_cast<int>(requests.size()), requests.data(),
                           &done, MPI_STATUSES_IGNORE);
    if (code != MPI_SUCCESS)
      return fail(failure, mpiFailure("MPI_Testall", code));
    auto waited = Clock::now() - begin;
    if (done) {
      pacing.end(waited);
      return true;
    }
    failure = {Kind::Aborted, {}, ""};
    if (process.notices.hasCome(failure.text) || process.aborted)
      return false;
    if (stopRequested) {
      failure.kind = Kind::Stopped;
      blame(exchange, failure);
      return false;
    }
    if (waited > limit) {
      failure.kind = Kind::TimedOut;
      blame(exchange, failure);
      return false;
    }
    std::this_thread::sleep_for(pacing.pauseAfter(waited));
  }
}

/// Missing receives tell most: their senders have not come. If there are none,
/// the ranks that have not taken this rank's messages are to blame.
void MpiChannel::blame(const Exchange &exchange, ExchangeFailure &failure) {
  std::vector<int64_t> elsewhere;
  // The requests are in the order in which they were posted.
  auto collect = [&](const std::vector<Piece> &pieces, bool isSend) {
    size_t number = isSend ? 0 : exchange.sends.size();
    for (const Piece &piece : pieces) {
      int done = 0;
      MPI_Request_get_status(requests[number++], &done, MPI_STATUS_IGNORE);
      if (done)
        continue;
      failure.ranks.push_back(piece.rank);
      if (!isSend && isElsewhere(members[piece.rank], exchange.tag))
        elsewhere.push_back(piece.rank);
    }
  };
  collect(exchange.receives, /*isSend=*/false);
  if (failure.ranks.empty())
    collect(exchange.sends, /*isSend=*/true);
  if (!elsewhere.empty()) {
    failure.kind = Kind::Disagreed;
    failure.ranks = elsewhere;
  }
  std::vector<int64_t> &ranks = failure.ranks;
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
}

/// Whether a message of another exchange has arrived from a member.
bool MpiChannel::isElsewhere(int member, int tag) {
  int come = 0;
  MPI_Status status;
  int code = MPI_Iprobe(member, MPI_ANY_TAG, communicator, &come, &status);
  return code == MPI_SUCCESS && come && status.MPI_TAG != tag;
}

} // namespace tpsp::rt
