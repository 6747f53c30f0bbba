-- Trees that prove listings complete, as docs/proofs.md defines them, and the transparency log.

-- table: milestone_roots
SELECT range_of(milestone_index) AS ms_range_id, milestone_index,
  CASE WHEN hex(payload[1:4]) = '07000000' THEN milestone_id ELSE message_id END AS log_id, seconds AS "timestamp",
  coalesce(len(message_ids), 0) AS message_count, root_of_leaves(coalesce(message_ids, [])) AS messages_root,
  root_of_leaves(coalesce(changes, [])) AS changes_root
FROM lake_milestones
LEFT JOIN (
  SELECT milestone_index, list(message_id ORDER BY white_flag_index) AS message_ids
  FROM expected_messages_by_milestone GROUP BY milestone_index
) USING (milestone_index)
LEFT JOIN (
  SELECT milestone_index, list(output_id || flag_byte(is_spent) ORDER BY white_flag_index, idx, is_spent, output_id) AS changes
  FROM expected_ledger_updates_by_milestone GROUP BY milestone_index
) USING (milestone_index)
WHERE milestone_index > genesis_index() AND milestone_index <= frontier() AND milestone_index <= proved_to();

-- view: provable_rows
-- Rows of listings: family and key, milestone, and the ids by which the listing is ordered.
SELECT unhex('01') || tag AS place, milestone_index, message_id AS ids FROM expected_tags
UNION ALL
SELECT unhex('02') || parent_id, milestone_index, message_id FROM expected_parents
UNION ALL
SELECT unhex(printf('%02x', family.number)) || address, milestone_index, output_id || message_id
FROM expected_outputs_by_address AS listed JOIN (VALUES
  ('legacy', 'address', 16), ('basic', 'address', 32), ('basic', 'sender', 33), ('basic', 'storage_deposit_return', 34),
  ('basic', 'expiration_return', 35), ('alias', 'sender', 48), ('alias', 'issuer', 49), ('alias', 'state_controller', 50),
  ('alias', 'governor', 51), ('foundry', 'address', 64), ('nft', 'address', 80), ('nft', 'storage_deposit_return', 81),
  ('nft', 'sender', 82), ('nft', 'issuer', 83), ('nft', 'expiration_return', 84)
) AS family(kind, variant, number) ON family.kind = listed.output_kind AND family.variant = listed.variant
WHERE included
UNION ALL
SELECT CASE output_kind WHEN 'basic' THEN unhex('2f') ELSE unhex('5e') END || tag, milestone_index, output_id || message_id
FROM expected_outputs_by_tag WHERE included
UNION ALL
SELECT CASE output_kind WHEN 'alias' THEN unhex('3f') WHEN 'foundry' THEN unhex('4f') ELSE unhex('5f') END || chain_id,
  milestone_index, u32_bytes(white_flag_index) || output_id
FROM chain_states
UNION ALL
SELECT unhex('70') || address, milestone_index, output_id || flag_byte(is_spent) FROM expected_ledger_updates_by_address
UNION ALL
SELECT unhex('71') || address, milestone_index, transaction_id || message_id
FROM expected_transactions_by_address WHERE included;

-- kept: listing_leaves
-- The leaves of all complete intervals: of level 0 from rows, of the others from the leaves of their children. The lists
-- are the children that have a key, if several have it.
WITH RECURSIVE leaves AS (
  SELECT 0 AS level, milestone_index // smallest() AS number, place, count(*) AS rows,
    root_of_rows(list(u32_bytes(milestone_index) || ids ORDER BY milestone_index, ids)) AS root,
    NULL::BIGINT[] AS numbers, NULL::BIGINT[] AS counts, NULL::BLOB[] AS roots
  FROM provable_rows
  WHERE milestone_index > genesis_index() AND is_interval(0, milestone_index // smallest())
  GROUP BY milestone_index // smallest(), place
  UNION ALL
  SELECT level + 1, number // 4, place, sum(rows)::BIGINT,
    CASE WHEN count(*) = 1 THEN any_value(root) ELSE root_of_children(
      level, list(number ORDER BY number), list(rows ORDER BY number), list(root ORDER BY number)) END,
    CASE WHEN count(*) > 1 THEN list(number ORDER BY number) END,
    CASE WHEN count(*) > 1 THEN list(rows ORDER BY number) END,
    CASE WHEN count(*) > 1 THEN list(root ORDER BY number) END
  FROM leaves
  WHERE level < 7 AND is_interval(level + 1, number // 4)
  GROUP BY level, number // 4, place
)
SELECT * FROM leaves;

-- kept: tiles_of_listings
SELECT level, number, tile, min(place) AS place, list(leaf ORDER BY place) AS leaves,
  root_of_leaves(list(leaf ORDER BY place)) AS root
FROM (
  SELECT level, number, place,
    place[1:1] || u16_big(octet_length(place) - 1) || place[2:] || u32_bytes(rows) || root AS leaf,
    (row_number() OVER (PARTITION BY level, number ORDER BY place) - 1) // 32 AS tile
  FROM listing_leaves
)
GROUP BY level, number, tile;

-- kept: intervals
-- Every complete interval, also one without rows.
WITH every AS (
  SELECT level, unnest(range(least_number(level), (frontier() + 1) // size_of(level))) AS number
  FROM (SELECT unnest(range(8)) AS level)
)
SELECT every.level AS level, every.number AS number, (every.number + 1) * size_of(every.level) - 1 AS last_milestone,
  coalesce(sum(len(leaves)), 0) AS key_count,
  coalesce(list(root ORDER BY tile) FILTER (root IS NOT NULL), []) AS roots,
  unhex(coalesce(string_agg(CASE WHEN tile > 0 AND tile % part_tiles() = 0
    THEN printf('%02x', octet_length(place)) || hex(place) END, '' ORDER BY tile), '')) AS parts
FROM every LEFT JOIN tiles_of_listings AS tiles ON tiles.level = every.level AND tiles.number = every.number
GROUP BY every.level, every.number;

-- table: interval_roots
SELECT range_of(last_milestone) AS ms_range_id, last_milestone, level, key_count, root_of_hashes(roots) AS root, parts
FROM intervals WHERE last_milestone <= proved_to();

-- table: listing_tiles
-- Tiles of an interval may be deleted some time after a larger one contains it.
SELECT tiles.level AS level, tiles.number AS number, tile // part_tiles() AS part, place, tile,
  unhex(list_aggregate(list_transform(leaves, lambda leaf: hex(leaf)), 'string_agg', '')) AS leaves,
  paths[tile + 1] AS path,
  tiles.level < 7 AND tiles.number // 4 >= least_number(tiles.level + 1)
    AND (tiles.number // 4 + 1) * size_of(tiles.level + 1) + trees_kept() - 1 <= proved_to() AS optional
FROM tiles_of_listings AS tiles
JOIN (SELECT level, number, last_milestone, paths_of_tiles(roots) AS paths FROM intervals) USING (level, number)
WHERE last_milestone <= proved_to();

-- table: listing_parts
SELECT place, level, number, unhex(list_aggregate(list_transform(range(1, len(numbers) + 1), lambda nth:
  printf('%08x%08x', numbers[nth], counts[nth]) || hex(roots[nth])), 'string_agg', '')) AS children
FROM listing_leaves
WHERE rows >= divided_from() AND numbers IS NOT NULL AND (number + 1) * size_of(level) - 1 <= proved_to();

-- table: log_tiles
SELECT level, number, width, data FROM log_files
QUALIFY row_number() OVER (PARTITION BY level, number ORDER BY width DESC) = 1;

-- table: log_heads
SELECT network() AS network, split_part(head, chr(10), 1) AS origin, CAST(split_part(head, chr(10), 2) AS BIGINT) AS size,
  from_base64(split_part(head, chr(10), 3)) AS root, trim(verifier, chr(10)) AS verifier, checkpoint, cosigned
FROM (
  SELECT max(text) FILTER (name = 'head') AS head, max(text) FILTER (name = 'verifier') AS verifier,
    max(text) FILTER (name = 'checkpoint') AS checkpoint, max(text) FILTER (name = 'cosigned') AS cosigned
  FROM log_texts
)
WHERE head IS NOT NULL;
