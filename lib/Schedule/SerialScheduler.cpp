#include "tpsp/Schedule/OverlapSchedulers.h"

using namespace tpsp;

OverlapSchedule tpsp::scheduleSerial(const OverlapProblem &problem) {
  OverlapSchedule schedule;
  for (const OverlapProblem::Command &command : problem.commands) {
    schedule.start.push_back(schedule.seconds);
    schedule.seconds += command.seconds;
  }
  return schedule;
}
