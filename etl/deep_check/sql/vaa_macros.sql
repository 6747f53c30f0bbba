-- Words that the queries of a Wormhole network share. They are written from docs/schema.md.

-- chain:address:sequence, the sequence padded to 16 digits.
CREATE MACRO row_key_of(chain, address, sequence_key) AS
  chain || ':' || hex_text(address) || ':' ||
  CASE WHEN sequence_key < '00010000000000000000' THEN sequence_key[5:] ELSE ltrim(sequence_key, '0') END;

CREATE MACRO day_of_seconds(seconds) AS CAST(seconds // 86400 AS INTEGER);

-- A time as Go writes it: 2021-09-21 01:52:26.038 +0000 UTC, without zeros at the end of the fraction.
CREATE MACRO go_time(ms) AS
  strftime(make_timestamp(1000 * ms), '%Y-%m-%d %H:%M:%S') ||
  rtrim(rtrim('.' || printf('%03d', ms % 1000), '0'), '.') || ' +0000 UTC';

-- Milliseconds of such a time, with a fraction of up to nine digits.
CREATE MACRO ms_of_go_time(text) AS
  epoch_ms(TRY_CAST(text[1:19] AS TIMESTAMP)) +
  CAST(rpad(regexp_extract(text, '^.{19}\.([0-9]{1,3})', 1), 3, '0') AS BIGINT);

-- Digits with a decimal point before the last ones, without zeros at the end of the fraction.
CREATE MACRO scaled(digits, decimals) AS
  CASE WHEN decimals = 0 THEN digits ELSE rtrim(rtrim(
    lpad(digits, CAST(greatest(length(digits), decimals + 1) AS INTEGER), '0')[:-decimals - 1] || '.' ||
    right(lpad(digits, CAST(greatest(length(digits), decimals + 1) AS INTEGER), '0'), decimals), '0'), '.') END;

-- The sum of decimal numbers with eight digits in two parts, which cannot overflow, and the number of both.
CREATE MACRO exact(text) AS CASE WHEN regexp_full_match(text, '[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?')
  THEN TRY_CAST(text AS DECIMAL(38, 8)) END;
CREATE MACRO whole_part(text) AS CAST(split_part(CAST(exact(text) AS VARCHAR), '.', 1) AS HUGEINT);
CREATE MACRO fraction_part(text) AS
  CAST(split_part(CAST(exact(text) AS VARCHAR), '.', 2) AS HUGEINT) * CASE WHEN exact(text) < 0 THEN -1 ELSE 1 END;
CREATE MACRO sum_text(whole, fraction) AS
  CASE WHEN abs(whole + fraction // 100000000) < 1000000000000000000000000000000 THEN
    CASE WHEN whole * 100000000 + fraction < 0 THEN '-' ELSE '' END ||
    scaled(CAST(abs(whole * 100000000 + fraction) AS VARCHAR), 8) END;
