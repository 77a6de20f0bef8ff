"""The six scenarios and the success criteria that search_content was asked for."""

import pytest
from tests.engines import one_engine

FILES = {
    "CLAUDE.md": (
        "# Working with Claude\n\n## Frontend\n\nReact hooks such as useState and useEffect keep the state of a "
        "component. Test them with the testing library.\n\n## Agents\n\nTMOAT agent testing: every test of an agent "
        "starts with known content, and testing ends with a check of the answer.\n"
    ),
    "src/auth/Auth.ts": (
        "// Authentication: validates JWT tokens and refreshes sessions of users who log in.\nexport class Auth {\n"
        "  // Authentication of a user by password; returns a signed JWT.\n"
        "  async login(user: string, password: string) { return this.sign(user); }\n"
        "  verifyToken(token: string) { return jwt.verify(token, this.secret); }\n}\n"
    ),
    "docs/authentication.md": (
        "# Authentication\n\nAuthentication proves who a user is. Users log in with a password, and authentication "
        "yields a JWT.\n"
    ),
    "docs/login.md": "# User authentication\n\nUser authentication: authentication of users, authentication.\n",
    "docs/configuration.md": (
        "# Configuration management\n\nConfiguration management reads YAML settings from config.yaml. Settings of the "
        "environment override YAML settings.\n\n## YAML settings\n\nEvery YAML setting has a default value.\n"
    ),
    "docs/vectors.md": "# Embeddings\n\nVectors live in SQLite with vec0; embeddings are compared by cosine.\n",
    "docs/storage.md": "# Storage\n\nSQLite keeps everything in one file.\n",
    "docs/bread.md": "# Bread\n\nSourdough is baked in a hot oven.\n",
    **{
        f"docs/guides/{topic}.md": (
            f"# {topic.title()} documentation\n\nThis documentation page describes {topic}. The documentation is "
            "written in Markdown, and documentation is built for every release.\n"
        )
        for topic in "installation tutorial reference contributing release architecture upgrade".split()
    },
}


@pytest.fixture
def folder(documents, tree):
    tree.write_all(FILES)
    return documents.add(tree, folder_id="folder-mcp").folder_id


def test_scenario_1_hybrid_search(documents, folder):
    concepts = ["React hooks", "testing"]
    plain = documents.search_content(folder, semantic_concepts=concepts, min_score=0, limit=50)
    semantic = {each.chunk_id: each.relevance_score for each in plain.data.results}
    answer = documents.search_content(
        folder, semantic_concepts=concepts, exact_terms=["useState", "TMOAT"], min_score=0.5
    )
    assert "CLAUDE.md" in answer.data.statistics.files_covered
    for result in answer.data.results:
        assert result.relevance_score >= 0.5
        if result.document_id == "CLAUDE.md":
            assert "useState" in result.content or "TMOAT" in result.content
            assert result.relevance_score > semantic[result.chunk_id]


def test_scenario_2_semantic_only(documents, folder):
    answer = documents.search_content(
        folder, semantic_concepts=["configuration management", "YAML settings"], min_score=0.6
    )
    assert answer.status.success
    assert answer.data.results[0].document_id == "docs/configuration.md"
    assert all(each.relevance_score >= 0.6 for each in answer.data.results)
    assert "YAML" in answer.data.results[0].content


def test_scenario_3_exact_terms_only(documents, folder):
    terms = ["vec0", "SQLite", "embeddings"]
    answer = documents.search_content(folder, exact_terms=terms, min_score=0.3)
    counts = [sum(term.lower() in each.content.lower() for term in terms) for each in answer.data.results]
    assert [each.document_id for each in answer.data.results] == ["docs/vectors.md", "docs/storage.md"]
    assert counts == sorted(counts, reverse=True)
    assert min(counts) >= 1


def test_scenario_4_pagination(documents, folder):
    first = documents.search_content(folder, semantic_concepts=["documentation"], limit=5)
    assert len(first.data.results) == 5
    assert first.continuation.has_more
    assert first.continuation.next_token
    second = documents.search_content(folder, continuation_token=first.continuation.next_token)
    ids = [each.chunk_id for answer in (first, second) for each in answer.data.results]
    scores = [each.relevance_score for answer in (first, second) for each in answer.data.results]
    assert second.data.results
    assert len(set(ids)) == len(ids)
    assert scores == sorted(scores, reverse=True)
    assert first.data.statistics.total_results == second.data.statistics.total_results == len(ids)


@one_engine
def test_scenario_5_min_score_filtering(documents, folder):
    strict, default = (
        documents.search_content(folder, semantic_concepts=["authentication"], min_score=least).data.results
        for least in (0.8, 0.5)
    )
    assert len(strict) < len(default)
    assert all(each.relevance_score >= 0.8 for each in strict)
    assert all(each.relevance_score >= 0.5 for each in default)
    assert {each.chunk_id for each in strict} < {each.chunk_id for each in default}


@one_engine
def test_scenario_6_document_id_reusability(documents, folder):
    top = documents.search_content(folder, semantic_concepts=["authentication"]).data.results[0]
    data = documents.get_document_data(folder, top.document_id)
    text = documents.get_document_text(folder, top.document_id)
    assert data.document.document_id == text.document_id == top.document_id
    assert text.text == FILES[top.document_id]
    assert top.content in text.text


@one_engine
def test_content_is_always_included_and_the_whole_chunk(documents, folder):
    for asked in ({"semantic_concepts": ["documentation"]}, {"exact_terms": ["documentation"]}):
        for result in documents.search_content(folder, **asked).data.results:
            assert result.content == documents.get_chunks(folder, [result.chunk_id])[0].content != ""


@one_engine
def test_file_names_and_types_get_no_boost(documents, tree):
    text = "Authentication of users by password."
    tree.write_all({"authentication.md": text, "zebra.md": text, "authentication.txt": text})
    folder = documents.add(tree).folder_id
    for asked in ({"semantic_concepts": ["authentication"], "min_score": 0}, {"exact_terms": ["authentication"]}):
        scores = {each.why.total for each in documents.search_content(folder, **asked).data.results}
        assert len(scores) == 1
    assert not documents.search_content(folder, exact_terms=["zebra"]).data.results


@one_engine
def test_the_answer_is_shaped_as_it_was_asked_for(documents, folder):
    shown = documents.search_content(folder, semantic_concepts=["documentation"], limit=2).to_dict()
    assert {"results", "statistics"} == set(shown["data"])
    assert set(shown["data"]["statistics"]) == {
        "total_results",
        "files_covered",
        "avg_relevance",
        "search_interpretation",
    }
    assert set(shown["status"]) == {"success", "code", "message"}
    assert set(shown["continuation"]) == {"has_more", "next_token"}
    assert set(shown["navigation_hints"]) == {"next_actions", "related_queries"}
