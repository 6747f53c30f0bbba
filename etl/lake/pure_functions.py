"""The functions that a query over the lake may call: Spark's built-in functions whose result depends only on their
arguments and the rows.

Left out are functions that call Java or start programs (reflect, java_method, try_reflect), that read files or
addresses (read_files, input_file_name), that describe the session or the machine (current_user, version, …), that parse
XML, and that give another result each time (rand, uuid, now).
"""

FUNCTIONS = frozenset(
    """
    any any_value approx_count_distinct approx_percentile array_agg avg bit_and bit_or bit_xor bool_and bool_or
    collect_list collect_set corr count count_if count_min_sketch covar_pop covar_samp every first first_value grouping
    grouping_id histogram_numeric kurtosis last last_value listagg max max_by mean median min min_by mode percentile
    percentile_approx percentile_cont percentile_disc regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope
    regr_sxx regr_sxy regr_syy skewness some std stddev stddev_pop stddev_samp string_agg sum try_avg try_sum var_pop
    var_samp variance

    cume_dist dense_rank lag lead nth_value ntile percent_rank rank row_number

    abs acos acosh asin asinh atan atan2 atanh bin bround cbrt ceil ceiling conv cos cosh cot csc degrees e exp expm1
    factorial floor greatest hypot isnan least ln log log10 log1p log2 mod nanvl negative pi pmod positive pow power
    radians rint round sec shiftleft shiftright shiftrightunsigned sign signum sin sinh sqrt tan tanh try_add try_divide
    try_mod try_multiply try_subtract try_to_number width_bucket bit_count bit_get getbit

    ascii base64 bit_length btrim char char_length character_length chr concat concat_ws contains decode elt encode
    endswith find_in_set format_number format_string initcap instr lcase left len length levenshtein locate lower lpad
    ltrim luhn_check mask octet_length overlay position printf quote regexp_count regexp_extract regexp_extract_all
    regexp_instr regexp_replace regexp_substr repeat replace right rpad rtrim sentences soundex space split split_part
    startswith substr substring substring_index to_binary to_char to_number to_varchar translate trim try_to_binary
    ucase unbase64 upper hex unhex is_valid_utf8 make_valid_utf8 validate_utf8 try_validate_utf8 raise_error assert_true

    add_months date date_add date_diff date_format date_from_unix_date date_part date_sub date_trunc dateadd datediff
    datepart day dayname dayofmonth dayofweek dayofyear extract from_unixtime from_utc_timestamp hour last_day
    make_date make_dt_interval make_interval make_timestamp make_timestamp_ltz make_timestamp_ntz make_ym_interval
    minute month monthname months_between next_day quarter second session_window timestamp timestamp_micros
    timestamp_millis timestamp_seconds timestampadd timestampdiff to_date to_timestamp to_timestamp_ltz
    to_timestamp_ntz to_unix_timestamp to_utc_timestamp trunc try_to_timestamp unix_date unix_micros unix_millis
    unix_seconds unix_timestamp weekday weekofyear window window_time year

    aggregate array array_append array_compact array_contains array_distinct array_except array_insert array_intersect
    array_join array_max array_min array_position array_prepend array_remove array_repeat array_size array_sort
    array_union arrays_overlap arrays_zip cardinality element_at exists explode explode_outer filter flatten forall get
    inline inline_outer map map_concat map_contains_key map_entries map_filter map_from_arrays map_from_entries map_keys
    map_values map_zip_with named_struct posexplode posexplode_outer reduce reverse sequence size slice
    sort_array stack struct transform transform_keys transform_values try_element_at zip_with str_to_map

    from_json get_json_object json_array_length json_object_keys json_tuple schema_of_json to_json from_csv to_csv
    schema_of_csv parse_url url_decode url_encode

    coalesce equal_null if ifnull isnotnull isnull nullif nullifzero nvl nvl2 typeof zeroifnull

    crc32 hash md5 sha sha1 sha2 xxhash64

    bigint binary boolean decimal double float int smallint string tinyint
    """.split()  # noqa: SIM905 (a list of one name a line would not fit on a screen)
)
"""In lower case."""
