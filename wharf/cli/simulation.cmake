# `wharf pipeline simulate`, `wharf bench pipeline`.
wharf_room(cli_simulation SOURCES bench_pipeline_case.cc bench_pipeline_real_report.cc bench_pipeline_report.cc simulation_report.cc simulation_svg.cc
           DEPS wharf::pipeline_data wharf::pipeline_planner wharf::report PRIVATE_DEPS nlohmann_json::nlohmann_json)
target_sources(wharf PRIVATE bench_pipeline.cc bench_pipeline_real.cc pipeline_simulate.cc)
target_link_libraries(wharf PRIVATE wharf::cli_simulation)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/data/pipeline DESTINATION share/wharf FILES_MATCHING PATTERN *.csv)
wharf_test(cli_simulation SOURCES bench_pipeline_test.cc DEPS nlohmann_json::nlohmann_json)
wharf_test(cli_simulation SOURCES simulation_report_test.cc DEPS nlohmann_json::nlohmann_json)
