-- Words of the queries of trees. They are written from docs/proofs.md.

-- Big-endian numbers, and the byte behind the id of an output: 1 if it was spent.
CREATE MACRO u16_big(number) AS unhex(printf('%04x', number));
CREATE MACRO u32_bytes(number) AS unhex(printf('%08x', number));
CREATE MACRO flag_byte(is_spent) AS CASE WHEN is_spent THEN unhex('01') ELSE unhex('00') END;

-- Intervals: milestones of one, the first one of an archive, and whether one is complete.
CREATE MACRO size_of(level) AS smallest() * CAST(pow(4, level) AS BIGINT);
CREATE MACRO least_number(level) AS
  CASE WHEN genesis_index() = 0 THEN 0 ELSE (genesis_index() + size_of(level)) // size_of(level) END;
CREATE MACRO is_interval(level, number) AS
  number >= least_number(level) AND (number + 1) * size_of(level) - 1 <= frontier();
