// Headers that every test includes, precompiled (TpspHelpers.cmake).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
