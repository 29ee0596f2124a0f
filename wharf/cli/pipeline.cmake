# `wharf pipeline plan`.
wharf_room(cli_pipeline SOURCES pipeline_tables.cc DEPS wharf::pipeline wharf::report
           PRIVATE_DEPS nlohmann_json::nlohmann_json)
wharf_test(cli_pipeline SOURCES pipeline_tables_test.cc DEPS nlohmann_json::nlohmann_json)
target_sources(wharf PRIVATE pipeline_plan_command.cc)
target_link_libraries(wharf PRIVATE wharf::cli_pipeline wharf::pipeline_planner)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/data/pipeline DESTINATION share/wharf FILES_MATCHING PATTERN *.yaml)
