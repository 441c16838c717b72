#include "NcclClique.h"

#include "Doubles.h"

namespace tpsp::doubles {

Clique::~Clique() {
  for (size_t rank = 0; rank < owed.size(); ++rank)
    tpspDoubleAwait(devices[rank], -owed[rank]);
}

void Clique::begin(size_t rank) {
  std::lock_guard<std::mutex> lock(mutex);
  auto owe = [this](size_t who, int change) {
    owed[who] += change;
    tpspDoubleAwait(devices[who], change);
  };
  int number = ++begun[rank];
  for (size_t other = 0; other < begun.size(); ++other) {
    if (other == rank)
      continue;
    if (begun[other] >= number)
      owe(rank, -1);
    else
      owe(other, 1);
  }
}

} // namespace tpsp::doubles
