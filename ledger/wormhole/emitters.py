"""Known emitters: the contracts of bridges and automatic relayers, by network, chain and address.

Addresses are hex; 20 bytes mean twelve leading zeros. The same address may be two kinds on two chains: BSC's NFT bridge
is Polygon's token bridge. Sources: sdk/{mainnet,testnet,devnet}_consts.go of wormhole-foundation/wormhole; chains that
retired before them: event_database/cloud_functions/process-vaa.go at 83e0f053f^.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

EmitterKind: TypeAlias = Literal["governance", "token_bridge", "nft_bridge", "relayer"]

NETWORKS = ("mainnet", "testnet", "devnet")

GOVERNANCE_CHAIN = 1
GOVERNANCE_EMITTER = bytes(31) + b"\x04"
"""The emitter of governance messages on every network. It represents the guardians; no contract has this address."""

EMITTERS: Mapping[str, Mapping[EmitterKind, Sequence[tuple[int, str]]]] = {
    "mainnet": {
        "token_bridge": (
            (1, "ec7372995d5cc8732397fb0ad35c0121e0eaa90d26f828a534cab54391b3a4f5"),
            (2, "3ee18b2214aff97000d974cf647e7c347e8fa585"),
            (3, "7cf7b764e38a0a5e967972c1df77d432510564e2"),
            (4, "b6f6d86a8f9879a9c87f643768d9efc38c1da6e7"),
            (5, "5a58505a96d1dbf8df91cb21b54419fc36e93fde"),
            (6, "0e082f06ff657d94310cb8ce8b0d9a04541d8052"),
            (7, "5848c791e09901b40a9ef749f2a6735b418d7564"),
            (8, "67e93fa6c8ac5c819990aa7340c0c16b508abb1178be9b30d024b8ac25193d45"),
            (9, "51b5123a7b0f9b2ba265f9c4c8de7d78d52f510f"),
            (10, "7c9fc5741288cdfdd83ceb07f3ea7e22618d79d2"),
            (11, "ae9d7fe007b3327aa64a32824aaac52c42a6e624"),
            (12, "ae9d7fe007b3327aa64a32824aaac52c42a6e624"),
            (13, "5b08ac39eaed75c0439fc750d9fe7e1f9dd0193f"),
            (14, "796dff6d74f3e27060b71255fe517bfb23c93eed"),
            (15, "148410499d3fcda4dcfd68a1ebfcdddda16ab28326448d4aae4d2f0465cdfcb7"),
            (16, "b1731c586ca89a23809861c6103f0b96b3f57d92"),
            (18, "a463ad028fb79679cfc8ce1efba35ac0e77b35080a1abe9bebe83461f176b0a3"),
            (19, "45dbea4617971d93188eda21530bc6503d153313"),
            (21, "ccceeb29348f71bdd22ffef43a2a19c1f5b5e17c5cca5411529120182672ade5"),
            (22, "0000000000000000000000000000000000000001"),
            (23, "0b2402144bb366a632d14b83f244d2e0e21bd39c"),
            (24, "1d68124e65fafc907325e3edbf8c4d84499daa8b"),
            (28, "8f9cf727175353b17a5f574270e370776123d90fd74956ae4277962b4fdee24c"),
            (30, "8d2de8d2f73f1f4cab472ac9a881c9b123c79627"),
            (32, "86c5fd957e2db8389553e1728f9c27964b22a8154091ccba54d75f4b10c61f5e"),
            (38, "167e0752de62cb76efc0fbb165bd342c6e2bb251"),
            (39, "3ff72741fd67d6ad0668d93b41a09248f4700560"),
            (40, "3ff72741fd67d6ad0668d93b41a09248f4700560"),
            (44, "3ff72741fd67d6ad0668d93b41a09248f4700560"),
            (45, "c309275443519adca74c9136b02a38ef96e3a1f6"),
            (46, "3ff72741fd67d6ad0668d93b41a09248f4700560"),
            (48, "0b2719cda2f10595369e6673cea3ee2edfa13ba7"),
            (50, "f97b81e513f53c7a6b57bd0b103a6c295b3096c5"),
            (51, "289e998e357c96dbfd8490b853595e0d48639ede2d1aed4a819edcc00165904c"),
            (57, "47f5195163270345fb4d7b9319eda8c64c75e278"),
            (64, "f97b81e513f53c7a6b57bd0b103a6c295b3096c5"),
            (67, "ee12ebddf6e34a206e1798d185317c846bc21638"),
            (3104, "aeb534c45c3049d380b9d9b966f9895f53abd4301bfaff407fa09dea8ae7a924"),
        ),
        "nft_bridge": (
            (1, "0def15a24423e1edd1a5ab16f557b9060303ddbab8c803d2ee48f4b78a1cfd6b"),
            (2, "6ffd7ede62328b3af38fcd61461bbfc52f5651fe"),
            (4, "5a58505a96d1dbf8df91cb21b54419fc36e93fde"),
            (5, "90bbd86a6fe93d3bc3ed6335935447e75fab7fcf"),
            (6, "f7b6737ca9c4e08ae573f75a97b73d7a813f5de5"),
            (7, "04952d522ff217f40b5ef3cbf659eca7b952a6c1"),
            (9, "6dcc0484472523ed9cdc017f711bcbf909789284"),
            (10, "a9c7119abda80d4a4e0c06c8f4d8cf5893234535"),
            (11, "b91e3638f82a1facb28690b37e3aae45d2c33808"),
            (12, "b91e3638f82a1facb28690b37e3aae45d2c33808"),
            (13, "3c3c561757baa0b78c5c025cdeaa4ee24c1dffef"),
            (14, "a6a377d75ca5c9052c9a77ed1e865cc25bd97bf3"),
            (16, "453cfbe096c0f8d763e8c5f24b441097d577bde2"),
            (22, "0000000000000000000000000000000000000005"),
            (23, "3dd14d553cfd986eac8e3bddf629d82073e188c8"),
            (24, "fe8cd454b4a1ca468b57d79c0cc77ef5b6f64585"),
            (30, "da3adc6621b2677bef9ad26598e6939cf0d92f88"),
        ),
        "relayer": (
            (2, "27428dd2d3dd32a4d7f7c497eaaa23130d894911"),
            (4, "27428dd2d3dd32a4d7f7c497eaaa23130d894911"),
            (5, "27428dd2d3dd32a4d7f7c497eaaa23130d894911"),
            (6, "27428dd2d3dd32a4d7f7c497eaaa23130d894911"),
            (13, "27428dd2d3dd32a4d7f7c497eaaa23130d894911"),
            (14, "27428dd2d3dd32a4d7f7c497eaaa23130d894911"),
            (16, "27428dd2d3dd32a4d7f7c497eaaa23130d894911"),
            (23, "27428dd2d3dd32a4d7f7c497eaaa23130d894911"),
            (24, "27428dd2d3dd32a4d7f7c497eaaa23130d894911"),
            (30, "706f82e9bb5b0813501714ab5974216704980e31"),
            (45, "1520cc9e779c56dab5866bebfb885c86840c33d3"),
            (57, "27428dd2d3dd32a4d7f7c497eaaa23130d894911"),
        ),
    },
    "testnet": {
        "token_bridge": (
            (1, "3b26409f8aaded3f5ddca184695aa6a0fa829b0c85caf84856324896d214ca98"),
            (2, "f890982f9310df57d00f659cf4fd87e65aded8d7"),
            (4, "9dcf9d205c9de35334d646bee44b2d2859712a09"),
            (5, "377d55a7928c046e18eebb61977e714d2a76472a"),
            (6, "61e44e506ca5659e6c0bba9b678586fa2d729756"),
            (8, "6241ffdc032b693bfb8544858f0403dec86f2e1720af9f34f8d65fe574b6238c"),
            (13, "c7a13be098720840dea132d860fdfa030884b09a"),
            (14, "05ca6037ec51f8b712ed2e6fa72219feae74e153"),
            (15, "c2c0b6ecbbe9ecf91b2b7999f0264018ba68126c2e83bf413f59f712f3a1df55"),
            (16, "bc976d4b9d57e57c3ca52e1fd136c45ff7955a96"),
            (19, "03f3e7b2e363f51cf6e57ef85f43a2b91dbce501"),
            (21, "40440411a170b4842ae7dee4f4a7b7a58bc0a98566e998850a7bb87bf5dc05b9"),
            (22, "0000000000000000000000000000000000000001"),
            (23, "23908a62110e21c04f3a4e011d24f901f911744a"),
            (24, "c7a204bdbfe983fcd8d8e61d02b475d4073ff97e"),
            (30, "a31aa3fdb7af7db93d18dda4e19f811342edf780"),
            (32, "9328673cb5de3fd99974cefbbd90fea033f4c59a572abfd7e1a4eebcc5d18157"),
            (38, "c7a204bdbfe983fcd8d8e61d02b475d4073ff97e"),
            (39, "a10f2ef61de1f19f586ab8b6f2eba89bace63f7a"),
            (40, "23908a62110e21c04f3a4e011d24f901f911744a"),
            (44, "a10f2ef61de1f19f586ab8b6f2eba89bace63f7a"),
            (45, "430855b4d43b8aeb9d2b9869b74d58dda79c0db2"),
            (46, "376428e7f26d5867e69201b275553c45b09ee090"),
            (47, "4a8bc80ed5a4067f1ccf107057b8270e0cc11a78"),
            (49, "0000000000000000000000000000000000000002"),
            (50, "a31aa3fdb7af7db93d18dda4e19f811342edf780"),
            (57, "7d8ebc211c4221ea18e511e4f0fd50c5a539f275"),
            (63, "f97b81e513f53c7a6b57bd0b103a6c295b3096c5"),
            (64, "3d5c2c2bea15af5d45f084834c535628c48c42a4"),
            (67, "7d8ebc211c4221ea18e511e4f0fd50c5a539f275"),
            (3104, "ef5251ea1e99ae48732800ccc7b83b57881232a73eb796b63b1d86ed2ea44e27"),
            (10002, "db5492265f6038831e89f495670ff909ade94bd9"),
            (10003, "c7a204bdbfe983fcd8d8e61d02b475d4073ff97e"),
            (10004, "86f55a04690fd7815a3d802bd587e83ea888b239"),
            (10005, "99737ec4b815d816c49a385943baf0380e75c0ac"),
            (10006, "76d093bbae4529a342080546cafeec4acba59ec6"),
            (10007, "c7a204bdbfe983fcd8d8e61d02b475d4073ff97e"),
            (10009, "f97b81e513f53c7a6b57bd0b103a6c295b3096c5"),
        ),
        "nft_bridge": (
            (1, "752a49814e40b96b097207e4b53fdd330544e1e661653fbad4bc159cc28a839e"),
            (2, "d8e4c2dbdd2e2bd8f1336ea691dbff6952b1a6eb"),
            (4, "cd16e5613ef35599dc82b24cb45b5a93d779f1ee"),
            (5, "51a02d0dcb5e52f5b92bdaa38fa013c91c7309a9"),
            (6, "d601baf2eee3c028344471684f6b27e789d9075d"),
            (13, "94c994fc51c13101062958b567e743f1a04432de"),
            (14, "acd8190f647a31e56a656748bc30f69259f245db"),
            (16, "98a0f4b96972b32fcb3bd03caeb66a44a6ab9edb"),
            (23, "ee3db83916ccdc3593b734f7f2d16d630f39f1d0"),
            (24, "23908a62110e21c04f3a4e011d24f901f911744a"),
            (30, "f681d1cc5f25a3694e348e7975d7564aa581db59"),
            (10002, "6a0b52ac198e4870e5f3797d5b403838a5bbfd99"),
            (10003, "23908a62110e21c04f3a4e011d24f901f911744a"),
            (10004, "268557122ffd64c85750d630b716471118f323c8"),
            (10005, "27812285fbe85ba1df242929b906b31ee3dd1b9f"),
            (10006, "c8941d483c45ef8fb72e4d1f9dde089c95ff8171"),
            (10007, "23908a62110e21c04f3a4e011d24f901f911744a"),
        ),
        "relayer": (
            (2, "28d8f1be96f97c1387e94a53e00eccfb4e75175a"),
            (4, "80ac94316391752a193c1c47e27d382b507c93f3"),
            (5, "0591c25ebd0580e0d4f27a82fc2e24e7489cb5e0"),
            (6, "a3cf45939bd6260bcfe3d66bc73d60f19e49a8bb"),
            (14, "306b68267deb7c5dfcda3619e22e9ca39c374f84"),
            (16, "0591c25ebd0580e0d4f27a82fc2e24e7489cb5e0"),
            (23, "ad753479354283eee1b86c9470c84d42f229ff43"),
            (24, "01a957a525a5b7a72808ba9d10c389674e459891"),
            (30, "ea8029cd7fcaeffcd1f53686430db0fc8ed384e1"),
            (40, "362fca37e45fe1096b42021b543f462d49a5c8df"),
            (44, "362fca37e45fe1096b42021b543f462d49a5c8df"),
            (46, "362fca37e45fe1096b42021b543f462d49a5c8df"),
            (57, "362fca37e45fe1096b42021b543f462d49a5c8df"),
            (10002, "7b1bd7a6b4e61c2a123ac6bc2cbfc614437d0470"),
            (10003, "7b1bd7a6b4e61c2a123ac6bc2cbfc614437d0470"),
            (10004, "93bad53ddfb6132b0ac8e37f6029163e63372cee"),
            (10005, "93bad53ddfb6132b0ac8e37f6029163e63372cee"),
        ),
    },
    "devnet": {
        "token_bridge": (
            (1, "c69a1b1a65dd336bf1df6a77afb501fc25db7fc0938cb08595a9ef473265cb4f"),
            (2, "0290fb167208af455bb137780163b7b7a9a10c16"),
            (4, "0290fb167208af455bb137780163b7b7a9a10c16"),
            (8, "8ec299cb7f3efec28f542397e07f07118d74c875f85409ed8e6b93c17b60e992"),
            (21, "c2bfb149b1f3e55d054891b27a8e249930e57368e755c11e8fadb9384afce495"),
            (3104, "c9138c6e5bd7a2ab79c1a87486c9d7349d064b35ac9f7498f3b207b3a61e6013"),
        ),
        "nft_bridge": (
            (1, "96ee982293251b48729804c8e8b24b553eb6b887867024948d2236fd37a577ab"),
            (2, "26b4afb60d6c903165150c6f0aa14f8016be4aec"),
            (4, "26b4afb60d6c903165150c6f0aa14f8016be4aec"),
        ),
        "relayer": (
            (2, "b98f46e96cb1f519c333fdfb5cce0b13e0300ed4"),
            (2, "cc680d088586c09c3e0e099a676fa4b6e42467b4"),
            (4, "b98f46e96cb1f519c333fdfb5cce0b13e0300ed4"),
            (4, "cc680d088586c09c3e0e099a676fa4b6e42467b4"),
        ),
    },
}

_KINDS: dict[tuple[str, int, bytes], EmitterKind] = {
    (network, chain, bytes.fromhex(address.zfill(64))): kind
    for network, kinds in EMITTERS.items()
    for kind, contracts in kinds.items()
    for chain, address in contracts
}
_KINDS |= {(network, GOVERNANCE_CHAIN, GOVERNANCE_EMITTER): "governance" for network in NETWORKS}


def find_emitter(network: str, chain: int, address: bytes) -> EmitterKind | None:
    """The kind of an emitter (32-byte address); None if it is not in the table."""
    return _KINDS.get((network, chain, address))
