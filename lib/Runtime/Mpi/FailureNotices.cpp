#include "FailureNotices.h"

#include "MpiStatus.h"

#include <chrono>
#include <cstring>
#include <thread>

namespace tpsp::rt {
namespace {

constexpr double secondsBetweenLooks = 0.002;

/// The time in which processes that fail at once, as in a timeout, hear of each
/// other. It is less than the second that mpirun gives processes to end.
constexpr double secondsToHear = 0.4;

/// After this time a failed process may exit. At the first exit mpirun ends all
/// processes, and the one that tells the user must be done by then.
constexpr double secondsToStay = 2 * secondsToHear;

} // namespace

std::string FailureNotices::open() {
  if (int code = MPI_Comm_dup(MPI_COMM_WORLD, &everyone); code != MPI_SUCCESS)
    return mpiFailure("MPI_Comm_dup", code);
  MPI_Comm_rank(everyone, &rank);
  MPI_Comm_size(everyone, &size);
  lowest = size;
  listen();
  return "";
}

void FailureNotices::listen() {
  MPI_Irecv(incoming, messageBytes, MPI_CHAR, MPI_ANY_SOURCE, 0, everyone,
            &listening);
}

void FailureNotices::announce(const std::string &message) {
  if (announced.exchange(true))
    return;
  std::lock_guard<std::mutex> lock(mutex);
  std::strncpy(outgoing, message.c_str(), messageBytes - 1);
  for (int other = 0; other < size; ++other) {
    if (other == rank)
      continue;
    sends.push_back(MPI_REQUEST_NULL);
    MPI_Isend(outgoing, messageBytes, MPI_CHAR, other, 0, everyone,
              &sends.back());
  }
}

/// Takes the messages that have arrived. Called with the lock held.
void FailureNotices::take() {
  int arrived = 1;
  while (arrived && listening != MPI_REQUEST_NULL) {
    MPI_Status status;
    if (MPI_Test(&listening, &arrived, &status) != MPI_SUCCESS || !arrived)
      return;
    if (status.MPI_SOURCE < lowest) {
      lowest = status.MPI_SOURCE;
      incoming[messageBytes - 1] = 0;
      lowestMessage = incoming;
    }
    listen();
  }
}

bool FailureNotices::hasCome(std::string &message) {
  std::unique_lock<std::mutex> lock(mutex, std::try_to_lock);
  if (!lock.owns_lock())
    return false;
  double now = MPI_Wtime();
  if (now - lastLook >= secondsBetweenLooks) {
    lastLook = now;
    take();
  }
  if (lowest == size)
    return false;
  message = lowestMessage;
  return true;
}

bool FailureNotices::isFirst() {
  std::lock_guard<std::mutex> lock(mutex);
  double end = MPI_Wtime() + secondsToHear;
  take();
  while (rank > 0 && lowest > rank && MPI_Wtime() < end) {
    areSent(); // makes the sends progress
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    take();
  }
  return lowest > rank;
}

/// Called with the lock held.
bool FailureNotices::areSent() {
  int sent = 0;
  MPI_Testall(int(sends.size()), sends.data(), &sent, MPI_STATUSES_IGNORE);
  return sent;
}

void FailureNotices::linger() {
  std::lock_guard<std::mutex> lock(mutex);
  double end = MPI_Wtime() + secondsToStay;
  while (MPI_Wtime() < end) {
    areSent(); // makes the sends progress
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

} // namespace tpsp::rt
