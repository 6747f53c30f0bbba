-- Words that all queries share. They are written from docs/schema.md and docs/analysts.md, not from the pipeline.

CREATE MACRO range_of(milestone) AS CAST(milestone // chunk_size() AS INTEGER);

CREATE MACRO hex_text(data) AS lower(hex(data));

-- Two bytes, little-endian, and the number in the last two bytes of an output id.
CREATE MACRO u16_bytes(number) AS unhex(printf('%02x%02x', number & 255, number >> 8));
CREATE MACRO output_index(output_id) AS
  CAST('0x' || hex(output_id[34:34]) || hex(output_id[33:33]) AS INTEGER);

CREATE MACRO kind_name(number) AS CASE
  WHEN number IN (0, 1) THEN 'legacy' WHEN number = 3 THEN 'basic' WHEN number = 4 THEN 'alias'
  WHEN number = 5 THEN 'foundry' WHEN number = 6 THEN 'nft' END;

-- The partition of a row: the last first milestone not above it, else 0.
CREATE MACRO partition_in(first_milestones, milestone) AS
  coalesce(list_max(list_filter(CAST(first_milestones AS INTEGER[]), lambda each: each <= milestone)), 0);

-- Parts of sums of 256 bits: below 2^96, and what is carried to the next part, negative if the sum is.
CREATE MACRO two_to_32() AS CAST(4294967296 AS HUGEINT);
CREATE MACRO rest(number) AS
  (number % 79228162514264337593543950336 + 79228162514264337593543950336) % 79228162514264337593543950336;
CREATE MACRO carry(number) AS
  CAST((number - rest(number)) // 79228162514264337593543950336 AS HUGEINT);

CREATE MACRO zeros() AS unhex(repeat('00', 32));

CREATE MACRO day_of(ms) AS CAST(make_timestamp(1000 * ms) AS DATE);

-- Milestones [[first, last], …] as text without spaces.
CREATE MACRO pairs_text(pairs) AS
  '[' || list_aggregate(list_transform(CAST(pairs AS INTEGER[][]), lambda each: '[' || each[1] || ',' || each[2] || ']'), 'string_agg', ',')
  || ']';
