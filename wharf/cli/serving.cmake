# `wharf bench serving` and `wharf ar drop-table`, of wharf-model.
wharf_room(cli_serving SOURCES bench_serving_report.cc bench_serving_rows.cc DEPS wharf::serving wharf::report
           PRIVATE_DEPS nlohmann_json::nlohmann_json)
wharf_test(cli_serving SOURCES bench_serving_test.cc DEPS nlohmann_json::nlohmann_json)
target_sources(wharf_model PRIVATE ar_drop_table.cc ar_drop_table_command.cc bench_serving.cc)
target_link_libraries(wharf_model PRIVATE wharf::cli_serving wharf::ar wharf::perception wharf::pipeline wharf::scene
                                          wharf::split_codec wharf::track)
