//! Words that a question may have whatever it is about: they say little of what it wants to know.

use super::word_list::WordList;
use super::words::FUNCTION_WORDS;

/// What a word counts that connects rather than says: just enough for a question of nothing else.
const LIGHT: f32 = 0.1;

/// What a word of everyday speech counts at most: a text may well say it otherwise.
const EVERYDAY: f32 = 0.6;

/// What a Korean verb counts at most: its letters are mostly endings.
const VERB: f32 = 1.0;

/// What a Korean word of one syllable counts: it is in many others.
const SYLLABLE: f32 = 0.5;

/// English words that connect, besides the function words.
static ENGLISH_LIGHT: WordList = WordList::new(
    "\
    across actually after again against along always among another around because before best better between \
    beyond bit both come comes currently down during each early either else even ever every exactly go goes \
    going good here instead keep kind know last late later like longer look looks lot maybe meanwhile must never \
    new next now one ones only other others own per perhaps put puts same say says see set soon take takes than \
    thing things think through too toward up upon use used uses using usually very via went whether while whose \
    within without yet",
);

/// English words of everyday speech.
static ENGLISH_EVERYDAY: WordList = WordList::new(
    "\
    accident actual aim almost alone alright ask asked avoid aware bad badly become begin behind believe big \
    bother break breaks bring busy call care careful carefully case cases cause certain chance choose clear \
    clearly close common concern correct correctly count cut deal decide depend depends difference different \
    difficult doubt drop easily easy effect end enough entire especially eventually exact example exist expect \
    extra fact fail fair far fast feel few figure finally find fine finish first fit fix follow forget former \
    forward free frequently full further gone great guess half handle hard hardly hear help high hold hope huge \
    idea imagine important impossible include including inside interested involve kept large largest lead learn \
    least leave left less level lie likely little live lose lost low main major manage matter mean meaning means \
    meet mention middle mind miss mistake moment money mostly move near nearly necessary nice normal normally \
    nothing notice obvious old open opinion opposite otherwise outside part particular past people person pick \
    place plain play plenty point prefer present pretty prevent probably problem problems promise proper \
    properly properties protect quick quickly quite rather reach reached ready real realise realize reason \
    receive recent recently regular related remain remember rest return right rough roughly run running safe \
    second seem seems sense separate separately several short side similar simple simply since single situation \
    slow slowly small smallest solve somebody somehow someone sometimes somewhere sort special stand start \
    starts stay step stick stop straight strange stuff subject sudden suddenly suggest suppose sure surprise \
    talk throw today together told tomorrow tonight touch treat trouble true try trying turn turned type typical \
    understand unless until useful usual value various wait walk watch weird whatever whenever wherever whole \
    wish wonder word work works worry worth wrong yesterday young",
);

/// Korean words that connect, with and without their particles.
static KOREAN_LIGHT: WordList = WordList::new(
    "\
    가끔 각각 것도 계속 그대 그대로 그러면 그럼 나중 내일 다른 대략 많아 매우 며칠 뭐가 벌써 별로 보통 서로 아니 아닌 아주 아직 약간 어제 오늘 요즘 이미 잠깐 잠시 저절 저절로 주로 중에 \
    지금 직접 최근 한번 함께 항상 혹시 혼자 훨씬",
);

/// What Korean words of everyday speech begin with, verbs for the most part.
static KOREAN_EVERYDAY: WordList = WordList::new(
    "\
    가능 가장 가져 가지 갑자 거기 거의 걸려 걸리 걸린 겨우 결국 고르 고른 고쳐 고치 골라 굳이 그만 기다 깨져 깨지 꺼져 꺼지 끝나 끝난 나가 나간 나갔 나누 나눈 나눌 나눠 나쁜 나은 남겨 \
    남는 남아 남은 낮게 낮은 낮추 낮춰 넘겨 넘기 넘긴 넘길 넘는 넘어 넘으 넣고 넣어 넣으 넣을 높게 높여 높은 높이 놓아 놓치 누군 늘려 늘리 늘어 늘었 늦게 늦어 늦은 다르 다시 닫히 달라 \
    대체 도대체 돌려 돌리 돌아 되돌 되찾 둘러 드나 들어 따로 떠나 똑같 뜨는 막고 막아 막히 만드 만든 만들 맞게 맞나 맞는 맞지 맞추 맞춰 맡겨 맡기 멈추 멈춘 멈춰 모르 모아 모으 모을 몰라 \
    무조건 묶어 묶을 미루 미뤄 바꾸 바꾼 바꿀 바꿔 바꿨 바뀌 바뀐 반드시 버려 버리 보내 보낸 보낼 보냈 부르 불러 불리 붙여 붙은 붙이 비슷 빠져 빠지 빠진 빨리 빼고 뺄지 사라 사람 살펴 \
    생겨 생기 생긴 생길 쉬운 쉽게 시켜 시키 싶은 써도 쓰게 쓰인 쓰지 아껴 아끼 아낄 아마 아무 아예 알리 어렵 얼른 여기 여러 역시 열고 열리 열어 올라 올려 올리 올린 올릴 옮겨 옮기 옮길 \
    원하 원할 이상한 이어 이쪽 일부러 잃어 잊어 자주 작게 작은 잡고 잡아 잡을 잡히 저기 적게 적어 적은 정한 정할 정해 제일 좋아 좋은 좋을 줄어 줄었 줄여 줄이 줄일 지나 지우 지울 지워 \
    지켜 찾고 찾는 찾아 찾을 채워 챙겨 천천 커서 커지 켜고 켜면 켜야 켜져 크게 틀려 틀린 편하 편한 풀리 풀어 필요 한꺼 합쳐 합치 합칠 헷갈 힘든",
);

/// Endings that hardly a noun has.
static VERB_ENDINGS: WordList = WordList::new(
    "\
    려면 는데 나요 어요 아요 여요 려고 니까 까요 으면 다면 습니다 네요 지요 죠 세요 던데 는지 거든요 아서 어서 줘 \
    려야 어야 아야 워야 줘야 나서 라서 려서 여서 면서 져서 게",
);

/// Nouns that end like a verb all the same.
const NOUNS: [&str; 8] = ["가게", "무게", "집게", "화면", "필요", "수요", "개요", "중요"];

/// Syllables that make a verb of the noun before them; that noun is what is asked about.
const MADE_VERB: [char; 10] = ['하', '되', '해', '했', '됐', '시', '한', '된', '할', '될'];

/// Endings of such verbs that stay when particles are cut off.
const MADE_ENDINGS: [&str; 10] =
    ["한가요", "된가요", "하거나", "되도록", "하도록", "되게", "하게", "한가", "되", "하"];

/// What comes after a verb: `바꿀 수 있나요`, `바꾸고 싶어요`.
const AFTER_VERB: [&str; 2] = ["수", "줄"];
const WANTS: char = '싶';

/// What an English word in lower case counts at most, if it is a common one.
pub(super) fn english(lower: &str, stem: &str) -> Option<f32> {
    let is_in = |words: &WordList| words.has(lower) || words.has(stem);
    if is_in(&FUNCTION_WORDS) || is_in(&ENGLISH_LIGHT) {
        return Some(LIGHT);
    }
    ENGLISH_EVERYDAY.has(lower).then_some(EVERYDAY)
}

/// The noun of a Korean word that was made a verb, or all of it.
pub(super) fn noun(stem: &str) -> &str {
    let cut = MADE_ENDINGS.iter().find_map(|ending| stem.strip_suffix(ending));
    cut.filter(|noun| noun.chars().count() >= 2).unwrap_or(stem)
}

/// What a Korean word counts at most, as it stands before `next`; none if that is up to its length.
pub(super) fn korean(surface: &str, stem: &str, next: &str) -> Option<f32> {
    if stem.chars().count() == 1 {
        return Some(SYLLABLE);
    }
    if KOREAN_LIGHT.has(stem) || KOREAN_LIGHT.has(surface) {
        return Some(LIGHT);
    }
    if KOREAN_EVERYDAY.begins(surface, |_| true) {
        return Some(EVERYDAY);
    }
    let is_before_more = AFTER_VERB.contains(&next) || next.starts_with(WANTS);
    let is_made = surface.chars().skip(2).any(|syllable| MADE_VERB.contains(&syllable));
    (!is_made && (is_before_more || ends_like_a_verb(surface))).then_some(VERB)
}

fn ends_like_a_verb(surface: &str) -> bool {
    if NOUNS.iter().any(|noun| surface.ends_with(noun)) {
        return false;
    }
    // 비용은요 is a noun that is asked about politely.
    let is_polite =
        surface.ends_with('요') && !surface.ends_with("은요") && !surface.ends_with("는요");
    let is_long = surface.chars().count() >= 3;
    VERB_ENDINGS.cut_off(surface).is_some() || (is_long && (is_polite || surface.ends_with('면')))
}
