# `wharf plan`, `wharf explain`, `wharf bench split`.
wharf_room(cli_split SOURCES bench_split_report.cc bench_split_summary.cc operator_table.cc profile_source.cc profile_table.cc split_gantt.cc split_plan.cc DEPS wharf::split wharf::report wharf::cli_text
           PRIVATE_DEPS nlohmann_json::nlohmann_json)
wharf_test(cli_split SOURCES bench_split_report_test.cc DEPS nlohmann_json::nlohmann_json)
wharf_test(cli_split SOURCES operator_table_test.cc)
wharf_test(cli_split SOURCES profile_source_test.cc)
wharf_test(cli_split SOURCES profile_table_test.cc)
wharf_test(cli_split SOURCES split_plan_test.cc)
if(WHARF_TESTS)
  target_compile_definitions(cli_split_profile_source_test
                             PRIVATE WHARF_TESTDATA="${PROJECT_SOURCE_DIR}/wharf/exec/testdata")
endif()
target_sources(wharf PRIVATE bench_split.cc bench_split_run.cc plan_command.cc)
target_link_libraries(wharf PRIVATE wharf::cli_split wharf::link)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/data/profiles DESTINATION share/wharf FILES_MATCHING PATTERN *.csv)
