/// Trials in separate processes, so that a crash or a hang is a failure with a
/// seed and does not end the test.
#ifndef TPSP_TEST_PROPERTY_WORKERS_H
#define TPSP_TEST_PROPERTY_WORKERS_H

#include "Trial.h"

#include <functional>

namespace tpsp::property {

/// Tries one program.
Outcome tryApart(const Program &program, uint64_t seed);

/// Tries the programs of the seeds [first, first + count), `jobs` at a time,
/// and calls `report` for each as it ends.
void tryAll(uint64_t first, uint64_t count, unsigned jobs,
            const std::function<void(uint64_t seed, const Outcome &)> &report);

} // namespace tpsp::property

#endif // TPSP_TEST_PROPERTY_WORKERS_H
