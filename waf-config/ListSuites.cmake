# SPDX-License-Identifier: GPL-2.0-only
#
# Asks the test program RUNNER for its suites and writes OUTPUT, which adds each of them to CTest.

execute_process(
  COMMAND "${RUNNER}" --list
  OUTPUT_VARIABLE suites
  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^ \n]+" suites "${suites}")
list(REMOVE_DUPLICATES suites)
if(NOT suites)
  message(FATAL_ERROR "${RUNNER} holds no test suites")
endif()

set(script "")
foreach(suite IN LISTS suites)
  string(APPEND script "add_test([==[${suite}]==] [==[${RUNNER}]==] "
                       "[==[--suite=${suite}]==] --verbose --fullness=EXTENSIVE)\n"
                       "set_tests_properties([==[${suite}]==] PROPERTIES TIMEOUT 600)\n")
endforeach()
file(WRITE "${OUTPUT}" "${script}")
